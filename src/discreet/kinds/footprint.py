"""What one silo's training puts into a round's sum: the numbers that noise, grid and events are made from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from discreet.privacy.events import FixedSizeSampling, PoissonSampling, SampledChange, Sampling


@dataclass(frozen=True, slots=True)
class Footprint:
    """A silo's part in a round, before rounding; real units.

    Attributes:
        l2_sensitivity: L2 norm of one sampled contribution: what adding or removing it moves.
        change: whether one unit more or less adds a contribution or replaces one.
        silo_bound: public worst-case L2 norm of what is rounded.
        guard_failure_prob: probability, each round, that the bound is not met and the round is aborted.
        sampling: how contributions enter a release.
        releases: in a round; more than one only for noisy-steps.
        weight: how many times one release's integers count in the sum, at most; 1 but for noisy-steps.
        roundings: how often the rounding bound of one release counts in δ (docs/theory/rows.md).
        assumptions: what this training takes for granted, in words.
    """

    l2_sensitivity: float
    change: SampledChange
    silo_bound: float
    guard_failure_prob: float
    sampling: Sampling
    releases: int
    weight: int
    roundings: int
    assumptions: tuple[str, ...]

    @property
    def extra_bits(self) -> int:
        """How many bits a sum of that many weighted releases needs beyond one release's."""
        return math.ceil(math.log2(self.weight)) if self.weight > 1 else 0


def worst(footprints: Sequence[Footprint]) -> Footprint:
    """Returns a part that is nowhere below any silo's; a guarantee for it holds for every silo.

    More of the same kind of change is never told apart less: a longer contribution, a higher rate, more
    releases (docs/theory/silos.md). The shares of fixed-size sampling differ even where all silos ask for
    the same, since they are whole records of silos of different sizes.
    """
    return replace(
        footprints[0],
        l2_sensitivity=max(one.l2_sensitivity for one in footprints),
        silo_bound=max(one.silo_bound for one in footprints),
        guard_failure_prob=max(one.guard_failure_prob for one in footprints),
        sampling=max((one.sampling for one in footprints), key=_share),
        releases=max(one.releases for one in footprints),
        weight=max(one.weight for one in footprints),
    )


def _share(sampling: Sampling) -> float:
    match sampling:
        case FixedSizeSampling(sample_size=size, population=population):
            return size / population
        case PoissonSampling(prob=prob):
            return prob
        case _:
            return 1.0


@dataclass(frozen=True, slots=True)
class NoiseSharing:
    """Whether the noise of other silos protects a silo's record, and what that rests on.

    Attributes:
        adds_up: True if every honest share counts; False if only the silo's own does.
        assumptions: what the sharing is CONDITIONAL on; empty if it is proven.
    """

    adds_up: bool
    assumptions: tuple[str, ...] = ()


SHARED = NoiseSharing(adds_up=True)
"""Noise that is added once a round: every honest share counts."""
