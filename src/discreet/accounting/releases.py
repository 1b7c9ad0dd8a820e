"""One release under one neighbouring relation: its dominating pairs, or the reason why there are none."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.accounting.pairs import DominatingPair, FixedSizePair, SampledGaussianPair
from discreet.errors import UnsupportedAnalysisError
from discreet.privacy.events import (
    FixedSizeSampling,
    NoSampling,
    PoissonSampling,
    Release,
    SampledChange,
    ShuffledSampling,
)
from discreet.privacy.units import NeighboringRelation


@dataclass(frozen=True, slots=True)
class Unsampled:
    """Every unit takes part: the release is μ-GDP with μ = ``distance`` / stddev."""

    distance: float


@dataclass(frozen=True, slots=True)
class Poisson:
    """A contribution of norm ``distance`` is present on one side only, with probability ``prob``."""

    distance: float
    prob: float


@dataclass(frozen=True, slots=True)
class PoissonReplaced:
    """With probability ``prob`` a contribution of norm ``distance`` turns into another such one."""

    distance: float
    prob: float


@dataclass(frozen=True, slots=True)
class FixedSizeReplaced:
    """Sampled without replacement at rate ``prob``; the contribution moves by at most ``distance``."""

    distance: float
    prob: float


Change = Unsampled | Poisson | PoissonReplaced | FixedSizeReplaced


def change(release: Release, neighboring: NeighboringRelation) -> Change:
    """Says how two neighbours differ in one release, in the units of its noise.

    Raises:
        UnsupportedAnalysisError: for combinations without a proven analysis; the message says which knob
            to turn.
    """
    replaced = neighboring is NeighboringRelation.REPLACE_ONE or release.change is SampledChange.REPLACED
    distance = release.l2_sensitivity
    match release.sampling:
        case NoSampling():
            return Unsampled(2.0 * distance if replaced else distance)
        case PoissonSampling(prob=1.0):
            return Unsampled(2.0 * distance if replaced else distance)
        case PoissonSampling(prob=prob):
            return PoissonReplaced(distance, prob) if replaced else Poisson(distance, prob)
        case FixedSizeSampling(sample_size=size, population=population):
            _require_fixed_population(neighboring, "fixed-size sampling without replacement")
            if size == population:
                return Unsampled(2.0 * distance)
            return FixedSizeReplaced(2.0 * distance, size / population)
        case ShuffledSampling():
            _require_fixed_population(neighboring, "shuffled sampling", special=True)
            return Unsampled(2.0 * distance if replaced else distance)


def _require_fixed_population(relation: NeighboringRelation, what: str, *, special: bool = False) -> None:
    """Refuses add/remove where the number of units is part of the mechanism."""
    allowed = {NeighboringRelation.REPLACE_ONE, NeighboringRelation.REPLACE_SPECIAL}
    if relation not in allowed:
        words = "replace-one or replace-special" if special else "replace-one"
        raise UnsupportedAnalysisError(
            f"{what} must be analysed under {words}, since adding a unit changes who else is drawn; got "
            f"{relation.value}. Set the neighbouring relation, or sample by PoissonSampling."
        )


def directions(
    kind: Poisson | PoissonReplaced | FixedSizeReplaced, stddev: float
) -> tuple[DominatingPair, DominatingPair]:
    """Returns the pairs that dominate (D, D′) and (D′, D), for Gaussian noise of ``stddev``."""
    mu = kind.distance / stddev
    match kind:
        case Poisson(prob=prob):
            return SampledGaussianPair(mu, prob, 0.0), SampledGaussianPair(mu, 0.0, prob)
        case PoissonReplaced(prob=prob):
            pair = SampledGaussianPair(mu, prob, prob)
            return pair, pair
        case FixedSizeReplaced(prob=prob):
            fixed = FixedSizePair(mu, prob)
            return fixed, fixed
