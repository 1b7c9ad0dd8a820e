"""The key ``privacy.clip_norm``: a number, or a table by which the norm follows a quantile."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from discreet.kinds.fields import Positive, Section
from discreet.kinds.quantile_clipping import QuantileClipping


class QuantileNormConfig(Section):
    """A clipping norm that follows a quantile of the units' norms from round to round, privately.

    For single-step and clipped-update (Andrew et al. 2021). The count that it needs travels in the same noisy
    sum, so the guarantee stays what it is and the noise on the update grows by √(1 + weight²/4).

    Attributes:
        quantile: share of the units (records, or clients) that should not be clipped.
        initial: the norm of the first round, a public guess; rather too small than too large.
        weight: how much of the sensitivity is spent on the count; 0.5 costs 3 % more noise.
        learning_rate: how fast the norm follows: its logarithm moves by less than this in a round.
    """

    quantile: Annotated[float, Field(gt=0, lt=1)]
    initial: Positive
    weight: Positive = 0.5
    learning_rate: Positive = 0.2

    def rule(self) -> QuantileClipping:
        """Returns how the norm moves, and what the count costs."""
        return QuantileClipping(self.initial, self.quantile, self.weight, self.learning_rate)


def _norm_tag(value: Any) -> str:
    return "number" if isinstance(value, int | float | str) else "quantile"


ClipNorm = Annotated[
    Annotated[Positive, Tag("number")] | Annotated[QuantileNormConfig, Tag("quantile")],
    Discriminator(_norm_tag),
]
