"""From noise shares to events: what each adversary sees, as the accountants understand it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from discreet.errors import UnsupportedAnalysisError
from discreet.kinds.footprint import SHARED, NoiseSharing
from discreet.mechanisms import per_silo, sampler_tv
from discreet.privacy.adversary import (
    Adversary,
    AggregationServer,
    Member,
    ReleasedAnswers,
    ReleasedModels,
    ServerWithColluders,
    SiloMessages,
    WithoutSecureAggregation,
)
from discreet.privacy.events import (
    Composed,
    Event,
    Failure,
    FixedSizeSampling,
    IntegerNoise,
    NoSampling,
    PoissonSampling,
    PolyaNoise,
    Release,
    Repeated,
    RepeatedPoissonSampling,
    SampledChange,
    Sampling,
    StatisticalDistance,
)
from discreet.privacy.units import NeighboringRelation, Unit


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
        roundings: how often a release's rounding bound counts in δ (docs/theory/rows.md).
        graph_failure_prob: a sparse graph of masks hides too little with at most this probability, each time
            it is drawn; 0 where everyone masks with everyone.
        assumptions: what local training takes for granted, in words.
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
    roundings: int = 1
    graph_failure_prob: float = 0.0
    assumptions: tuple[str, ...] = ()

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
    the unit, so they do not grow with the number of silos; an inexact sampler counts for every share
    (docs/theory/rows.md says how often each counts).
    """
    counted = release.counted_shares(honest_silos)
    law = per_silo(release.share, counted)
    noisy = Release(law, release.l2_sensitivity, release.dimension, release.sampling, release.change)
    count = rounds * release.steps
    events: list[Event] = [Repeated(noisy, count)]
    if release.rounding_failure_prob > 0:
        prob = count * release.roundings * release.rounding_failure_prob
        events.append(Failure(prob, "the rounding bound of a release fails"))
    if release.guard_failure_prob > 0:
        events.append(Failure(rounds * release.guard_failure_prob, "a batch is larger than its guard"))
    distance = count * counted * sampler_tv(law, release.dimension)
    if distance > 0:
        events.append(StatisticalDistance(distance, "the sampler differs from its law"))
    return Composed(tuple(events))


def composed(events: Iterable[Event]) -> Event:
    """Returns the event of several, one after the other; at least one."""
    several = tuple(events)
    return several[0] if len(several) == 1 else Composed(several)


def of_several(release: RoundRelease, count: int) -> RoundRelease:
    """Returns a release as it shows ``count`` contributions of one unit: records of one person, or silos.

    Theorems 1 and 3 of docs/theory/persons.md: each moves the sum by its sensitivity if its own coin says so.

    Raises:
        UnsupportedAnalysisError: where they do not enter independently, or several noisy steps show each.
    """
    if count == 1:
        return release
    sampling, sensitivity = repeated(release.sampling, count), release.l2_sensitivity
    if isinstance(release.share, PolyaNoise):
        # What counts there is the L1 norm, which several contributions add up; their squared lengths do not.
        sampling = RepeatedPoissonSampling(1.0, count)
    return replace(
        release,
        sampling=sampling,
        l2_sensitivity=sensitivity if isinstance(sampling, RepeatedPoissonSampling) else count * sensitivity,
        # Twice, since the bad event may depend on which of them are drawn.
        rounding_failure_prob=2 * count * release.rounding_failure_prob,
        guard_failure_prob=count * release.guard_failure_prob,
    )


def repeated(sampling: Sampling, count: int) -> Sampling:
    """Returns how ``count`` contributions, each with a coin of its own, enter a release.

    Raises:
        UnsupportedAnalysisError: where they do not enter independently.
    """
    match sampling:
        case NoSampling() | PoissonSampling(prob=1.0):
            return sampling
        case PoissonSampling(prob=prob):
            return RepeatedPoissonSampling(prob, count)
        case _:
            raise UnsupportedAnalysisError(
                "what one person adds must be sampled by independent coins; got "
                f"{type(sampling).__name__}. Use poisson sampling."
            )


def against_server(event: Event, release: RoundRelease, *, setups: int) -> Event:
    """Adds to ``event`` that one of ``setups`` sparse graphs of masks may hide too little from the server."""
    if release.graph_failure_prob == 0.0:
        return event
    failure = Failure(setups * release.graph_failure_prob, "a sparse graph of masks hides too little")
    return Composed((event, failure))


def most_setups(attempts: int) -> int:
    """Bounds how often keys are made for so many attempts: for each, and when a process starts for it."""
    return 2 * attempts


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Whom the sum must withstand.

    Attributes:
        num_silos: silos in the plan.
        min_survivors: fewer survivors, and nothing is unmasked; 1 where nothing is masked.
        max_colluding: silos that may share everything with the server.
        threshold: shares needed to unmask.
        against_members: whether the target also holds against a member that subtracts its own noise.
    """

    num_silos: int
    min_survivors: int
    max_colluding: int
    threshold: int
    against_members: bool = True

    @property
    def summed(self) -> bool:
        """Whether contributions are seen in sums only; else every silo is protected by its own noise."""
        return self.min_survivors > 1

    @property
    def honest_survivors(self) -> int:
        """Shares of noise that the target counts on in every released sum, whoever colludes or takes part."""
        known = max(1, self.max_colluding) if self.against_members else self.max_colluding
        return self.min_survivors - known


def adversaries(
    silos: tuple[str, ...], thresholds: Thresholds, unit: Unit = Unit.RECORD, *, asks: bool = False
) -> tuple[tuple[Adversary, int], ...]:
    """Returns every adversary that a plan reports, with the noise shares that stand between it and a unit.

    Where a plan ``asks`` questions, what is released is answers. Where nothing is summed in secret, each silo
    has one row, about its own messages: everything else that anybody sees follows from all silos' messages.
    """
    if not thresholds.summed:
        return tuple((SiloMessages(silo), 1) for silo in silos)
    fixed: list[tuple[Adversary, int]] = [
        (ReleasedAnswers() if asks else ReleasedModels(), thresholds.min_survivors),
        (Member("client" if unit is Unit.CLIENT else "silo"), thresholds.min_survivors - 1),
        (AggregationServer(), thresholds.min_survivors),
    ]
    if thresholds.max_colluding:
        colluding = thresholds.max_colluding
        fixed.append((ServerWithColluders(colluding), thresholds.min_survivors - colluding))
    return (*fixed, *((WithoutSecureAggregation(silo), 1) for silo in silos))


def budget_adversary(thresholds: Thresholds, unit: Unit, *, asks: bool = False) -> tuple[Adversary, int]:
    """Returns the strongest adversary that the target is calibrated against, and the shares that it faces.

    Of two that face as few, the one that sees more: the server with colluders.
    """
    calibrated = [
        (adversary, shares)
        for adversary, shares in adversaries((), thresholds, unit, asks=asks)
        if thresholds.against_members or not isinstance(adversary, Member)
    ]
    return min(calibrated, key=lambda row: (row[1], not isinstance(row[0], ServerWithColluders)))
