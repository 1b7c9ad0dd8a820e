"""The factor by which each layer of each record's gradient is scaled into the ball, for every style."""

from __future__ import annotations

import torch

from discreet.kinds.styles import Automatic, ClippingStyle, Flat, PerLayer


def factors(style: ClippingStyle, norms_squared: torch.Tensor, clip_norm: float) -> torch.Tensor:
    """Returns factors such that Σ_layers (factor·norm)² ≤ ``clip_norm``² for every record.

    Args:
        style: how.
        norms_squared: squared gradient norms, shape ``(layers, n)``; the factors have the same shape.
        clip_norm: C.

    Raises:
        ConfigurationError: if there is not one share for each layer.
    """
    match style:
        case Flat():
            norms = norms_squared.sum(dim=0).sqrt()
            return (clip_norm / norms.clamp(min=clip_norm)).expand_as(norms_squared)
        case PerLayer():
            limits = norms_squared.new_tensor(style.limits(norms_squared.shape[0], clip_norm))[:, None]
            return limits / torch.maximum(norms_squared.sqrt(), limits)
        case Automatic(stability=stability):
            norms = norms_squared.sum(dim=0).sqrt()
            return (clip_norm / (norms + stability * clip_norm)).expand_as(norms_squared)


def count_within(norms_squared: torch.Tensor, clip_norm: float) -> int:
    """Returns how many records' whole gradients are no longer than ``clip_norm``, whatever the style.

    Args:
        norms_squared: squared gradient norms, shape ``(layers, n)``.
        clip_norm: C.
    """
    return int((norms_squared.sum(dim=0).sqrt() <= clip_norm).sum())
