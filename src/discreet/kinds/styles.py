"""The table ``style``: how a record's gradient is brought into the ball of the clipping norm.

Every style keeps the whole gradient of a record within the norm, so the sensitivity does not depend on it.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from discreet.errors import ConfigurationError
from discreet.kinds.fields import Positive, Section, within
from discreet.kinds.float_error import MAX_NORM, MIN_NORM

_Share = Annotated[
    float, Field(ge=MIN_NORM, le=MAX_NORM), within(MIN_NORM, MAX_NORM, "above 0, from 2^-64 to 2^64")
]


class _Style(Section):
    def require_layers(self, layers: int) -> None:
        """Refuses settings that are for another number of the model's trainable layers.

        Raises:
            ConfigurationError: saying how many there are.
        """


class Flat(_Style):
    """Scales a record's whole gradient by min(1, C/norm). Abadi et al. (2016), Algorithm 1."""

    kind: Literal["flat"] = "flat"


class PerLayer(_Style):
    """Clips each layer by itself to its share of C; the shares' squares add up to one.

    Attributes:
        shares: relative norms, one a trainable layer in the model's order; empty means equal. They are
            scaled so that the whole gradient stays within C, and far smaller or larger ones could not be:
            their squares are no normal numbers. McMahan et al. (2018), section 3.
    """

    kind: Literal["per-layer"] = "per-layer"
    shares: tuple[_Share, ...] = ()

    def require_layers(self, layers: int) -> None:
        """Refuses shares of another number of layers: silos would find out, and send noise alone."""
        self.limits(layers, clip_norm=1.0)

    def limits(self, layers: int, clip_norm: float) -> tuple[float, ...]:
        """Returns the norm that each of so many trainable layers is clipped to.

        Raises:
            ConfigurationError: if there is not one for each.
        """
        shares = self.shares or (1.0,) * layers
        if not len(shares) == layers:
            raise ConfigurationError(
                f"'training.local.style.shares' must give one share for each of the model's {layers} "
                f"trainable layers; got {len(shares)}."
            )
        total = math.sqrt(sum(share**2 for share in shares))
        return tuple(clip_norm * share / total for share in shares)


class Automatic(_Style):
    """Scales every gradient by C/(norm + stability·C), so that no clipping norm needs tuning.

    Bu, Wang, Zha, Karypis (2023), "Automatic Clipping", equation 4.1, in units of C.

    Attributes:
        stability: γ: the larger, the less a short gradient is lengthened.
    """

    kind: Literal["automatic"] = "automatic"
    stability: Positive = 0.01


ClippingStyle = Annotated[Flat | PerLayer | Automatic, Field(discriminator="kind")]
FLAT = Flat()
