"""How a record's gradient is brought into the ball: flat, layer by layer, or always normalised.

Every style keeps the whole gradient of a record within ``clip_norm``, so the sensitivity does not depend
on the style.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from discreet.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Flat:
    """Scales the whole gradient by min(1, C/norm). Abadi et al. (2016), Algorithm 1."""

    def factors(self, norms_squared: torch.Tensor, clip_norm: float) -> torch.Tensor:
        """Returns the factor of each layer of each record; see `ClippingStyle`."""
        norms = norms_squared.sum(dim=0).sqrt()
        return (clip_norm / norms.clamp(min=clip_norm)).expand_as(norms_squared)


@dataclass(frozen=True, slots=True)
class PerLayer:
    """Clips each layer by itself to its share of C; the shares' squares add up to one.

    Attributes:
        shares: relative norms, one a trainable layer in the model's order; empty means equal. They are
            scaled so that the whole gradient stays within C. McMahan et al. (2018), section 3.
    """

    shares: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not all(share > 0 and math.isfinite(share) for share in self.shares):
            raise ConfigurationError(f"The 'shares' of PerLayer must be positive; got {self.shares}.")

    def factors(self, norms_squared: torch.Tensor, clip_norm: float) -> torch.Tensor:
        """Returns the factor of each layer of each record; see `ClippingStyle`."""
        layers = norms_squared.shape[0]
        shares = self.shares or (1.0,) * layers
        if not len(shares) == layers:
            raise ConfigurationError(
                f"PerLayer needs one share for each of the model's {layers} trainable layers; "
                f"got {len(shares)}."
            )
        total = math.sqrt(sum(share**2 for share in shares))
        limits = norms_squared.new_tensor([[clip_norm * share / total] for share in shares])
        return limits / torch.maximum(norms_squared.sqrt(), limits)


@dataclass(frozen=True, slots=True)
class Automatic:
    """Scales every gradient by C/(norm + stability·C), so that no clipping norm needs tuning.

    Bu, Wang, Zha, Karypis (2023), "Automatic Clipping", equation 4.1, in units of C.
    """

    stability: float = 0.01

    def __post_init__(self) -> None:
        if not (self.stability > 0 and math.isfinite(self.stability)):
            raise ConfigurationError(f"The 'stability' of Automatic must be positive; got {self.stability}.")

    def factors(self, norms_squared: torch.Tensor, clip_norm: float) -> torch.Tensor:
        """Returns the factor of each layer of each record; see `ClippingStyle`."""
        norms = norms_squared.sum(dim=0).sqrt()
        return (clip_norm / (norms + self.stability * clip_norm)).expand_as(norms_squared)


def count_within(norms_squared: torch.Tensor, clip_norm: float) -> int:
    """Returns how many records' whole gradients are no longer than ``clip_norm``, whatever the style.

    Args:
        norms_squared: squared gradient norms, shape ``(layers, n)``.
        clip_norm: C.
    """
    return int((norms_squared.sum(dim=0).sqrt() <= clip_norm).sum())


FLAT = Flat()
ClippingStyle = Flat | PerLayer | Automatic
"""``factors(norms_squared, clip_norm)`` takes squared gradient norms, shape ``(layers, n)``, and returns
factors of the same shape such that Σ_layers (factor·norm)² ≤ clip_norm² for every record."""
