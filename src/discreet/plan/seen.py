"""What an adversary sees of a plan's releases, as an event, and what that guarantees."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from discreet.accounting import guarantee
from discreet.config import Config
from discreet.plan.assumptions import assuming
from discreet.plan.counted import composition, one_after_the_other
from discreet.plan.held_out import NOT_MEASURED, TWO_SIDES
from discreet.plan.releases import RoundRelease, against_server, composed, event_for, most_setups, of_several
from discreet.plan.training import silos_of_a_unit
from discreet.privacy.adversary import (
    Adversary,
    AggregationServer,
    ServerWithColluders,
    SiloMessages,
    WithoutSecureAggregation,
)
from discreet.privacy.events import Event
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.units import NeighboringRelation, Status, Unit

if TYPE_CHECKING:
    from discreet.plan.plan import Plan


def adversary_guarantee(
    plan: Plan,
    *,
    adversary: Adversary,
    honest_silos: int,
    rounds: int,
    aborted: int = 0,
    over: bool = False,
    records: int = 1,
    besides: int = 0,
    silo: str | None = None,
) -> Guarantee:
    """Returns the guarantee of the first ``rounds`` releases of a plan against one adversary.

    For the client unit presence is public, since a client that is not there adds no noise either: what nobody
    can tell is a client's update from an empty one (replace-special). Where the number of records is fixed,
    one is exchanged for another (replace-one).

    Args:
        plan: one without evaluations, which are of other units.
        adversary: who looks.
        honest_silos: how many shares of noise stand between it and a unit.
        rounds: releases that are charged, of all silos together.
        aborted: attempts that released nothing, besides; each showed a message to whoever sees one.
        over: True if there will be no further attempt; else a guarantee that this matters to says so.
        records: how many records of one silo it is about.
        besides: releases of other parts, for which keys may be made as well.
        silo: whose units it is about; without one, any silo's.
    """
    config, release, unit = plan.config, plan.release, plan.unit
    event = adversary_event(
        plan,
        adversary=adversary,
        honest_silos=honest_silos,
        rounds=rounds,
        aborted=aborted,
        records=records,
        besides=besides,
        silo=silo,
    )
    found = guarantee(
        event,
        delta=config.privacy.delta,
        unit=unit,
        neighboring=relation_of(unit, release),
        adversary=adversary,
    )
    if release.counted_shares(honest_silos) > 1 and release.sharing.assumptions:
        assumptions = (*found.assumptions, *release.sharing.assumptions)
        found = dataclasses.replace(found, status=Status.CONDITIONAL, assumptions=assumptions)
    # Stages of a training are of one kind: they differ neither in relation, nor in how noise is shared, nor
    # in words.
    about = _about(plan, adversary, silo)
    sums = sum(_sums(composition(part, count, about)) for part, count in one_after_the_other(plan, rounds))
    return assuming(config, release, found, rounds=sums, aborted=aborted, over=over)


def relation_of(unit: Unit, release: RoundRelease) -> NeighboringRelation:
    """Returns between which data a plan's guarantees hold; `adversary_guarantee` says why."""
    return NeighboringRelation.REPLACE_SPECIAL if unit is Unit.CLIENT else release.neighboring


def adversary_event(
    plan: Plan,
    *,
    adversary: Adversary,
    honest_silos: int,
    rounds: int,
    aborted: int = 0,
    records: int = 1,
    besides: int = 0,
    silo: str | None = None,
) -> Event:
    """Returns the event of ``rounds`` releases against one adversary; `adversary_guarantee` says the rest.

    An attempt that came to nothing counts as one of each sort, since nobody says of which it was.
    """
    about = _about(plan, adversary, silo)
    parts = [
        (
            part.config,
            [(of_several(release, records), number) for release, number in composition(part, count, about)],
        )
        for part, count in one_after_the_other(plan, rounds)
    ]
    event = composed(
        _event(config, releases, adversary, honest_silos, aborted=aborted) for config, releases in parts
    )
    if isinstance(adversary, AggregationServer | ServerWithColluders):
        setups = most_setups(sum(_sums(releases) for _, releases in parts) + aborted + besides)
        return against_server(event, plan.release, setups=setups)
    return event


def weakest(found: list[Guarantee]) -> Guarantee:
    """Returns the guarantee of a unit of either side (docs/theory/questions.md)."""
    largest = max(found, key=lambda one: one.epsilon)
    status = max((one.status for one in found), key=list(Status).index)
    assumptions = dict.fromkeys(text for one in found for text in one.assumptions)
    citations = dict.fromkeys(text for one in found for text in one.citations)
    return dataclasses.replace(
        largest,
        delta=max(one.delta for one in found),
        status=status,
        assumptions=(*assumptions, TWO_SIDES, NOT_MEASURED),
        citations=tuple(citations),
    )


def _event(
    config: Config,
    releases: Sequence[tuple[RoundRelease, int]],
    adversary: Adversary,
    honest_silos: int,
    *,
    aborted: int,
) -> Event:
    """Returns the event of releases with how many of each there are, but for the server's graphs."""
    # Without secure aggregation all silos' messages are seen: each of a person's silos shows a contribution
    # of its own, in every attempt. Composed, these bound one message too.
    silos = silos_of_a_unit(config)
    if isinstance(adversary, WithoutSecureAggregation):
        return composed(
            event_for(release, honest_silos=honest_silos, rounds=(count + aborted) * silos)
            for release, count in releases
        )
    return composed(
        event_for(of_several(release, silos), honest_silos=honest_silos, rounds=count)
        for release, count in releases
    )


def _about(plan: Plan, adversary: Adversary, silo: str | None) -> str | None:
    """Returns of whose units the contributions count; None for any silo's, where silos do not differ.

    Whoever sees the messages of one silo, where none are summed, sees those of its units alone.
    """
    if isinstance(adversary, SiloMessages):
        return adversary.silo
    return silo if plan.own else None


def _sums(releases: Iterable[tuple[RoundRelease, int]]) -> int:
    return sum(count for _, count in releases)
