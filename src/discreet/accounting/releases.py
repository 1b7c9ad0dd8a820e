"""How two neighbours differ in one release, or the reason why no analysis is known."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import UnsupportedAnalysisError
from discreet.privacy.events import (
    FixedSizeSampling,
    NoSampling,
    PoissonSampling,
    Release,
    RepeatedPoissonSampling,
    SampledChange,
)
from discreet.privacy.units import NeighboringRelation


@dataclass(frozen=True, slots=True)
class Unsampled:
    """Every unit takes part: the release is μ-GDP with μ = ``distance`` / stddev."""

    distance: float


@dataclass(frozen=True, slots=True)
class Included:
    """``trials`` contributions of norm ``distance`` are present with probability ``prob`` each.

    On one of the two data sets they are absent; if ``replaced``, they are present on both, pointing
    anywhere.
    """

    distance: float
    prob: float
    trials: int
    replaced: bool


@dataclass(frozen=True, slots=True)
class FixedSizeReplaced:
    """Sampled without replacement at rate ``prob``; the contribution moves by at most ``distance``."""

    distance: float
    prob: float


Change = Unsampled | Included | FixedSizeReplaced


def change(release: Release, neighboring: NeighboringRelation) -> Change:
    """Says how two neighbours differ in one release, in the units of its noise.

    Raises:
        UnsupportedAnalysisError: for combinations without a proven analysis; the message says which knob
            to turn.
    """
    replaced = is_replaced(release.change, neighboring)
    distance = release.l2_sensitivity
    moved = 2.0 * distance if replaced else distance
    match release.sampling:
        case NoSampling() | PoissonSampling(prob=1.0):
            return Unsampled(moved)
        case RepeatedPoissonSampling(prob=1.0, trials=trials):
            return Unsampled(trials * moved)
        case PoissonSampling(prob=prob):
            return Included(distance, prob, 1, replaced)
        case RepeatedPoissonSampling(prob=prob, trials=trials):
            return Included(distance, prob, trials, replaced)
        case FixedSizeSampling(sample_size=size, population=population):
            if neighboring is not NeighboringRelation.REPLACE_ONE:
                raise UnsupportedAnalysisError(
                    "fixed-size sampling must be analysed under replace-one, since adding a unit changes who "
                    f"else is drawn; got {neighboring.value}. Set the neighbouring relation, or sample by "
                    "PoissonSampling."
                )
            whole = size == population
            return (
                Unsampled(2.0 * distance) if whole else FixedSizeReplaced(2.0 * distance, size / population)
            )


def is_replaced(change_kind: SampledChange, neighboring: NeighboringRelation) -> bool:
    """Says whether a sampled contribution turns into another one rather than appearing or disappearing."""
    return neighboring is NeighboringRelation.REPLACE_ONE or change_kind is SampledChange.REPLACED
