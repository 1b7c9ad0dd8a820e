"""Per-record gradients written out by `torch.func.vmap`, for models that have no book-keeping rule."""

from __future__ import annotations

import warnings

import torch
from torch import nn
from torch.func import functional_call, grad_and_value, vmap

from discreet.errors import ConfigurationError
from discreet.learning.clipping.pieces import Explicit
from discreet.learning.clipping.styles import ClippingStyle, count_within
from discreet.learning.losses import record_losses
from discreet.models.parameters import trainable


class PerRecordFallbackWarning(UserWarning):
    """A layer has no fast clipping rule; its model is clipped by writing out per-record gradients."""


def warn_fallback(layer: str) -> None:
    """Names the layer that makes training slow."""
    warnings.warn(
        f"No fast clipping rule for layer {layer}: per-record gradients are written out by vmap, which costs "
        "time and memory. The guarantee is the same.",
        PerRecordFallbackWarning,
        stacklevel=2,
    )


def written_out_clipped_sum(
    model: nn.Module, features: torch.Tensor, labels: torch.Tensor, style: ClippingStyle, clip_norm: float
) -> tuple[torch.Tensor, float, int]:
    """Returns the sum of clipped gradients, flat float64 in `flatten` order, the summed loss, and the count.

    The count is that of `ClippedSum.within`.

    Raises:
        ConfigurationError: if vmap cannot run the model record by record.
    """
    params = {name: param.detach() for name, param in trainable(model)}

    def loss_of(values: dict[str, torch.Tensor], one: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        outputs = functional_call(model, values, (one.unsqueeze(0),))
        return record_losses(outputs, label.unsqueeze(0))[0]

    try:
        per_record = vmap(grad_and_value(loss_of), in_dims=(None, 0, 0), randomness="different")
        gradients, losses = per_record(params, features, labels)
    except RuntimeError as error:
        raise ConfigurationError(
            f"The model cannot be run record by record ({error}). Use layers that torch.func.vmap supports, "
            "or a kind that clips whole updates: clipped-update (client) or sharded (record)."
        ) from error
    pieces = {name: Explicit(gradient) for name, gradient in gradients.items()}
    norms_of_layer: dict[str, torch.Tensor] = {}
    for name, piece in pieces.items():
        layer = name.rpartition(".")[0]
        squared = piece.norms_squared()
        norms_of_layer[layer] = norms_of_layer[layer] + squared if layer in norms_of_layer else squared
    norms = torch.stack(list(norms_of_layer.values()))
    factors = dict(zip(norms_of_layer, style.factors(norms, clip_norm), strict=True))
    sums = [piece.weighted_sum(factors[name.rpartition(".")[0]]) for name, piece in pieces.items()]
    return torch.cat(sums), float(losses.double().sum()), count_within(norms, clip_norm)
