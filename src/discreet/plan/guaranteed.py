"""What a plan guarantees: of all its parts together, against each adversary, and for each silo's units."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from discreet.plan.counted import contributions, parts, unlike_silos
from discreet.plan.releases import composed
from discreet.plan.seen import adversary_event, adversary_guarantee, weakest
from discreet.privacy.adversary import Adversary, SiloMessages, WithoutSecureAggregation
from discreet.privacy.events import Event
from discreet.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from discreet.plan.plan import Plan

# Whoever sees the messages of one silo sees its units alone.
OF_ONE_SILO = (WithoutSecureAggregation, SiloMessages)


def rows(plan: Plan) -> tuple[tuple[Adversary, int, str | None], ...]:
    """Returns every guarantee that there is: the adversary, its shares of noise, and whose units.

    None is everybody's. Where silos differ, each has a row of its own against the budget adversary; where
    nothing is summed, every row is of one silo anyway.
    """
    of_all = tuple((who, shares, None) for who, shares in plan.adversaries())
    if not (plan.own and plan.thresholds.summed):
        return of_all
    adversary, honest = plan.budget_adversary()
    return (*of_all, *((adversary, honest, silo) for silo in plan.facts.silos))


def guarantees_for(plan: Plan, silo: str) -> tuple[Guarantee, ...]:
    """Returns the guarantees of everything planned that concern the units of one silo."""
    concern = [
        row
        for row in plan.guarantees
        if row.silo is None and not (isinstance(row.adversary, OF_ONE_SILO) and row.adversary.silo != silo)
    ]
    if not plan.own:
        return tuple(concern)
    shares = dict(plan.adversaries())
    return tuple(
        row
        if isinstance(row.adversary, OF_ONE_SILO)
        else against(plan, row.adversary, shares[row.adversary], rounds=plan.releases, silo=silo)
        for row in concern
    )


def against(
    plan: Plan,
    adversary: Adversary,
    honest_silos: int,
    *,
    rounds: int,
    aborted: int = 0,
    over: bool = False,
    silo: str | None = None,
    evaluated: int | None = None,
) -> Guarantee:
    """Returns the guarantee of so many releases; `adversary_guarantee` says what the arguments mean.

    ``evaluated`` of them are evaluations; without it, as many as are among the first so many.

    Where held-out units are asked, it is the weaker of the two that the sides have (`parts`). Where silos
    differ, it is that of the units of ``silo``, or the weakest of all silos'.
    """
    own = adversary.silo if isinstance(adversary, OF_ONE_SILO) else silo
    about = unlike_silos(plan) if own is None or not plan.own else (own,)
    found = [
        adversary_guarantee(
            part,
            adversary=adversary,
            honest_silos=honest_silos,
            rounds=count,
            aborted=aborted,
            over=over,
            besides=rounds - count,
            silo=one,
        )
        for part, count in parts(plan, rounds, evaluated)
        for one in about
    ]
    if plan.evaluation is not None:
        return weakest(found)
    if silo is not None and plan.own:
        return dataclasses.replace(found[0], silo=silo)
    # Assumptions name a number of sums: the most that anybody is in.
    most = max(range(len(about)), key=lambda place: contributions(plan, rounds, about[place]))
    worst = max(found, key=lambda row: row.epsilon)
    return dataclasses.replace(worst, assumptions=found[most].assumptions)


def event_against(
    plan: Plan, adversary: Adversary, honest_silos: int, *, rounds: int, silo: str | None = None
) -> Event:
    """Returns the event of ``rounds`` releases as an adversary sees them, for the units of ``silo``.

    Where held-out units are asked, it is as if a unit were on both sides, and where silos differ and none
    is named, as if it were at the worst of them in every respect; neither is ever too little.
    """
    return composed(
        adversary_event(
            part,
            adversary=adversary,
            honest_silos=honest_silos,
            rounds=count,
            besides=rounds - count,
            silo=silo,
        )
        for part, count in parts(plan, rounds)
    )
