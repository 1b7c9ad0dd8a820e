"""What one silo's training puts into a round's sum: the numbers that noise, grid and events are made from."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from discreet.errors import UnsupportedAnalysisError
from discreet.learning import LocalTraining, NoisySteps, Sharded
from discreet.learning.convex_steps import ConvexSteps
from discreet.learning.noisy_steps import ASSUMPTION, INDEPENDENT_LOCAL_STATE
from discreet.privacy.events import FixedSizeSampling, SampledChange, Sampling

SiloTraining = LocalTraining | NoisySteps


@dataclass(frozen=True, slots=True)
class Footprint:
    """A silo's part in a round, before rounding; real units.

    Attributes:
        l2_sensitivity: L2 norm of one sampled contribution: what adding or removing it moves.
        change: whether one unit more or less adds a contribution or replaces one.
        silo_bound: public worst-case L2 norm of what is rounded.
        guard_failure_prob: probability, each round, that the bound is not met and the round is aborted.
        sampling: how contributions enter a release.
        steps: releases a round; more than one only for noisy-steps.
        weight: how many times one release's integers count in the sum, at most; 1 but for noisy-steps.
        roundings: how often the rounding bound of one release counts in δ (docs/theory/rows.md).
        assumptions: what this training takes for granted, in words.
    """

    l2_sensitivity: float
    change: SampledChange
    silo_bound: float
    guard_failure_prob: float
    sampling: Sampling
    steps: int = 1
    weight: int = 1
    roundings: int = 1
    assumptions: tuple[str, ...] = ()


def footprint(training: SiloTraining, capacity: int, batch_bound: float) -> Footprint:
    """Returns the footprint of a silo of at most ``capacity`` records.

    A shard that is sampled holds the record or does not, so one record more *replaces* its contribution
    (theory §2.3); the accountant does the doubling, which is tighter than doubling here.
    """
    match training:
        case NoisySteps():
            sensitivity = training.step_sensitivity()
            return Footprint(
                l2_sensitivity=sensitivity,
                change=SampledChange.ADDED_OR_REMOVED,
                silo_bound=sensitivity * batch_bound,
                guard_failure_prob=0.0,
                sampling=training.release_sampling(),
                steps=len(training.rates),
                weight=training.weights().total,
                assumptions=training.assumptions,
            )
        case Sharded():
            sensitivity, change = training.contribution_norm(), SampledChange.REPLACED
        case _:
            sensitivity, change = training.l2_sensitivity(), SampledChange.ADDED_OR_REMOVED
    return Footprint(
        l2_sensitivity=sensitivity,
        change=change,
        silo_bound=training.update_bound(capacity),
        guard_failure_prob=training.failure_prob(capacity),
        sampling=training.release_sampling(),
        roundings=_roundings(training, change),
        assumptions=training.assumptions,
    )


def _roundings(training: SiloTraining, change: SampledChange) -> int:
    """Returns how often the rounding bound of one release counts in δ.

    Twice where a contribution turns into another one, both of which are rounded, and where a unit's own coin
    (the step that it is given) decides what is rounded; once elsewhere.
    """
    exchanged = isinstance(training.release_sampling(), FixedSizeSampling)
    twice = exchanged or change is SampledChange.REPLACED or isinstance(training, ConvexSteps)
    return 2 if twice else 1


def most_sampling(footprints: Sequence[Footprint]) -> Sampling:
    """Returns the sampling with the highest rate; a guarantee for it holds for every silo.

    Only the shares of fixed-size sampling differ, since they are whole records of silos of different sizes.
    """
    return max((footprint.sampling for footprint in footprints), key=_share)


def _share(sampling: Sampling) -> float:
    return sampling.sample_size / sampling.population if isinstance(sampling, FixedSizeSampling) else 1.0


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


def noise_sharing(training: SiloTraining, accepted: Collection[str]) -> NoiseSharing:
    """Says how far the noise of several silos may be added up for this kind of training.

    Noise that is added once, to a vector of bounded sensitivity, adds up over the silos: PROVEN. Several
    noisy local steps are proven at the silo's own noise only (theory §1); the published claim for the sum is
    used when its assumption is accepted by name.

    Raises:
        UnsupportedAnalysisError: for an accepted assumption that does not exist here.
    """
    several = isinstance(training, NoisySteps) and len(training.rates) > 1
    known = {INDEPENDENT_LOCAL_STATE} if several else set()
    unknown = sorted(set(accepted) - known)
    if unknown:
        raise UnsupportedAnalysisError(
            f"'privacy.accept_assumptions' must name assumptions that this training has "
            f"({', '.join(sorted(known)) or 'it has none'}); got {unknown[0]!r}."
        )
    if not several:
        return SHARED
    if INDEPENDENT_LOCAL_STATE in accepted:
        return NoiseSharing(adds_up=True, assumptions=(ASSUMPTION,))
    return NoiseSharing(adds_up=False)


def extra_bits(weight: int) -> int:
    """Returns how many bits a sum of that many weighted releases needs beyond one release's."""
    return math.ceil(math.log2(weight)) if weight > 1 else 0
