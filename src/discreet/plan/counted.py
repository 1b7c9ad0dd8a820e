"""What the releases of a plan count as: of whose units, how often one silo's are in them, and how many."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from discreet.kinds import SamplingConfig
from discreet.plan.releases import RoundRelease
from discreet.plan.silos import sampling_of
from discreet.plan.stages import Stage

if TYPE_CHECKING:
    from discreet.plan.plan import Plan


def parts(plan: Plan, releases: int, evaluated: int | None = None) -> tuple[tuple[Plan, int], ...]:
    """Returns plans without evaluations, with how many of the first releases are theirs.

    ``evaluated`` says how many of them are evaluations where that is not as the plan's order has it.

    Guarantee:
        No unit's records are in two of them, so that all releases together satisfy the weakest of the
        guarantees of the parts (docs/theory/questions.md).
    """
    if plan.evaluation is None:
        return ((plan, releases),)
    if evaluated is None:
        evaluated = plan.order.evaluated(releases)
    alone = dataclasses.replace(plan, evaluation=None)
    return (alone, releases - evaluated), (plan.evaluation, evaluated)


def one_after_the_other(plan: Plan, releases: int) -> tuple[tuple[Plan, int], ...]:
    """Returns plans of one kind of release, with how many of the first so many are theirs, in order.

    Guarantee:
        They are about the same units: their events compose. For a plan without evaluations (`parts`).
    """
    if plan.preparation is None:
        return ((plan, releases),)
    prepared = plan.order.prepared(releases)
    alone = dataclasses.replace(plan, preparation=None)
    return (plan.preparation, prepared), (alone, releases - prepared)


def composition(plan: Plan, rounds: int, silo: str | None = None) -> tuple[tuple[RoundRelease, int], ...]:
    """Returns what the first ``rounds`` rounds release, each with how many like it a silo may be in.

    Of the units of ``silo``; of those of any, without one.
    """
    if not plan.segments:
        return ((plan.release_of(silo), contributions(plan, rounds, silo)),)
    counts = plan.order.by_segment(rounds)
    return tuple((stage.release, count) for stage, count in zip(plan.stages, counts, strict=True))


def contributions(plan: Plan, rounds: int, silo: str | None = None) -> int:
    """Returns in how many of the first ``rounds`` releases the records of a silo, or of any, may be."""
    planned = plan.timetable
    if planned is None:
        return rounds
    return planned.most_contributions(rounds) if silo is None else planned.contributions_of(silo, rounds)


def contributions_of(plan: Plan, silo: str) -> int:
    """Returns how many releases ask ``silo``; of a stranger, as many as may ask any silo."""
    planned = plan.timetable
    asked = 0 if planned is None else planned.contributions_of(silo)
    return asked or contributions(plan, plan.releases)


def by_contribution(plan: Plan) -> Plan:
    """Returns the plan whose rounds are one silo's contributions: a timetable's guarantees are of rounds.

    Source: docs/theory/schedules.md.
    """
    if plan.timetable is None:
        return plan
    training = plan.training.model_copy(update={"schedule": None})
    return dataclasses.replace(plan, config=plan.config.model_copy(update={"training": training}))


def of_stage(plan: Plan, stage: Stage) -> Plan:
    """Returns the plan of a training that has the rounds of one stage alone; its digest means nothing."""
    if not plan.segments:
        return plan
    training = stage.config.training.model_copy(update={"rounds": stage.rounds})
    config = stage.config.model_copy(update={"training": training})
    return dataclasses.replace(plan, config=config, grid=stage.grid, release=stage.release, segments=())


def unlike_silos(plan: Plan) -> tuple[str | None, ...]:
    """Returns one silo of each sort in which they differ; None alone where they do not."""
    if not plan.own:
        return (None,)
    # Which sums a timetable has a silo in matters before the last one.
    if plan.timetable is not None:
        return plan.facts.silos
    first: dict[RoundRelease, str] = {}
    for silo, release in zip(plan.facts.silos, plan.own, strict=True):
        first.setdefault(release, silo)
    return tuple(first.values())


def normaliser(plan: Plan, survivors: tuple[str, ...]) -> float:
    """Returns the public number of units that ``survivors`` put into a sum of the first stage."""
    alike: dict[SamplingConfig, dict[str, int]] = {}
    for silo, capacity in zip(plan.facts.silos, plan.capacities, strict=True):
        alike.setdefault(sampling_of(plan.config, silo), {})[silo] = capacity
    return sum(
        plan.training.local.normaliser(sampling, silos, tuple(silo for silo in survivors if silo in silos))
        for sampling, silos in alike.items()
    )


def divisor(plan: Plan, release: int, survivors: tuple[str, ...]) -> float:
    """Returns the public number that the sum of a release over ``survivors`` is divided by.

    A sum that a timetable asks of some silos only moves the model by their part of the federation, so that as
    many contributions of everybody move it as far as the same number of rounds.
    """
    if plan.timetable is None:
        return normaliser(plan.at(release), survivors)
    part = normaliser(plan, plan.facts.silos) / normaliser(plan, plan.asked(release))
    return normaliser(plan, survivors) * part
