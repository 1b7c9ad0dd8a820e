"""From noise shares to events: what each adversary sees, as the accountants understand it."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.mechanisms import per_silo, sampler_tv
from discreet.plan.footprint import SHARED, NoiseSharing
from discreet.privacy.adversary import (
    Adversary,
    AggregationServer,
    ReleasedModels,
    ServerWithColluders,
    WithoutSecureAggregation,
)
from discreet.privacy.events import (
    Composed,
    Event,
    Failure,
    FixedSizeSampling,
    IntegerNoise,
    Release,
    Repeated,
    SampledChange,
    Sampling,
    StatisticalDistance,
)
from discreet.privacy.units import NeighboringRelation


@dataclass(frozen=True, slots=True)
class RoundRelease:
    """One round's release, as planned: everything that an event needs but the number of honest shares.

    Attributes:
        share: the noise law; its ``num_silos`` is replaced by the number of honest, surviving silos.
        l2_sensitivity: grid units, after rounding; one sampled unit added or removed.
        dimension: number of coordinates.
        sampling: how units enter a round.
        rounding_failure_prob: the sensitivity may be larger with at most this probability, each release.
        guard_failure_prob: a round's batch guard may fail with at most this probability, each round.
        change: whether one unit more or less adds a contribution or replaces one.
        steps: releases a round.
        sharing: whether other silos' noise protects a silo's records, and what that rests on.
    """

    share: IntegerNoise
    l2_sensitivity: float
    dimension: int
    sampling: Sampling
    rounding_failure_prob: float
    guard_failure_prob: float
    change: SampledChange = SampledChange.ADDED_OR_REMOVED
    steps: int = 1
    sharing: NoiseSharing = SHARED

    @property
    def neighboring(self) -> NeighboringRelation:
        """The relation in which this release is accounted."""
        return neighboring_of(self.sampling)

    def counted_shares(self, honest_silos: int) -> int:
        """Returns how many of ``honest_silos`` shares of noise protect a record."""
        return honest_silos if self.sharing.adds_up else 1


def neighboring_of(sampling: Sampling) -> NeighboringRelation:
    """Returns the relation: where the number of units is fixed, one takes the place of another."""
    if isinstance(sampling, FixedSizeSampling):
        return NeighboringRelation.REPLACE_ONE
    return NeighboringRelation.ADD_REMOVE


def event_for(release: RoundRelease, *, honest_silos: int, rounds: int) -> Event:
    """Returns the event of ``rounds`` rounds whose sums carry the noise of ``honest_silos`` silos.

    Where noise does not add up over silos, only the share of the silo that holds the record counts: what
    others add is post-processing. The failure probabilities of rounding and guard concern the silo that holds
    the unit, so they do not grow with the number of silos (theory §4, §2.4); an inexact sampler counts for
    every share.
    """
    counted = release.counted_shares(honest_silos)
    law = per_silo(release.share, counted)
    noisy = Release(law, release.l2_sensitivity, release.dimension, release.sampling, release.change)
    count = rounds * release.steps
    events: list[Event] = [Repeated(noisy, count)]
    replaced = release.change is SampledChange.REPLACED
    exchanged = release.neighboring is NeighboringRelation.REPLACE_ONE
    roundings = 2 if replaced or exchanged else 1
    if release.rounding_failure_prob > 0:
        prob = count * roundings * release.rounding_failure_prob
        events.append(Failure(prob, "the rounding bound of a release fails"))
    if release.guard_failure_prob > 0:
        events.append(Failure(rounds * release.guard_failure_prob, "a batch is larger than its guard"))
    distance = count * counted * sampler_tv(law, release.dimension)
    if distance > 0:
        events.append(StatisticalDistance(distance, "the sampler differs from its law"))
    return Composed(tuple(events))


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Whom the sum must withstand.

    Attributes:
        num_silos: silos in the plan.
        min_survivors: fewer survivors, and nothing is unmasked.
        max_colluding: silos that may share everything with the server.
        threshold: shares needed to unmask.
    """

    num_silos: int
    min_survivors: int
    max_colluding: int
    threshold: int

    @property
    def honest_survivors(self) -> int:
        """Shares of noise that are certain in every released sum, whoever colludes."""
        return self.min_survivors - self.max_colluding


def adversaries(silos: tuple[str, ...], thresholds: Thresholds) -> tuple[tuple[Adversary, int], ...]:
    """Returns every adversary that a plan reports, with the noise shares that stand between it and a unit."""
    fixed: list[tuple[Adversary, int]] = [
        (ReleasedModels(), thresholds.min_survivors),
        (AggregationServer(), thresholds.min_survivors),
    ]
    if thresholds.max_colluding:
        fixed.append((ServerWithColluders(thresholds.max_colluding), thresholds.honest_survivors))
    return (*fixed, *((WithoutSecureAggregation(silo), 1) for silo in silos))
