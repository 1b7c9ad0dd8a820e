"""Several runs together: what everything that they released tells about one unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from discreet.accounting import guarantee
from discreet.config.data import without_folder
from discreet.errors import ConfigurationError
from discreet.plan import Plan
from discreet.plan.counted import parts
from discreet.plan.guaranteed import event_against
from discreet.plan.held_out import NOT_MEASURED, TWO_SIDES
from discreet.privacy.adversary import SiloMessages
from discreet.privacy.events import Composed, Event
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.units import NeighboringRelation
from discreet.session.runs import Run

ALL_PLANNED = "all of these trainings were decided upon before anything of the first was seen"
SAME_PEOPLE = "all of these trainings are charged to the same silos and the same people"
SEEDED = (
    "nobody knows the seed of a simulation, and no two of these runs have one seed: whoever knows it can "
    "remove the noise, and noise of one seed may be the same in both"
)
ALL_OF_A_SIDE = "all runs of one side of the split were decided upon before anything of the first was seen"


def composed(runs: Sequence[Run], *, delta: float) -> Guarantee:
    """Returns the guarantee of several runs together, against the strongest adversary of their plans.

    Guarantee:
        Loss distributions of all planned releases are composed exactly, so that ε is far below the sum of
        the runs' own. Those of a run that ended early count too, since it may have ended by what it released.
        That is proven for trainings that were all fixed beforehand; for those that were chosen by earlier
        results a silo's filter is (docs/theory/budgets.md). Records that took part in one run only
        are protected by that run's own guarantee, which is stronger. A training and an evaluation on the
        records that it held out are about different records: of the two sides the larger ε counts, and not
        their sum (docs/theory/questions.md).

    Args:
        runs: at least one; all about one unit, one relation and one adversary.
        delta: at which ε is stated; no smaller than what the runs' failures take.

    Raises:
        ConfigurationError: if there is no run, or the runs' guarantees are not about the same.
        LedgerError: if a ledger is damaged.

    Example:
        ``discreet.composed([discreet.open_run("runs/a"), discreet.open_run("runs/b")], delta=1e-5)``
    """
    if not runs:
        raise ConfigurationError("there must be at least one run to compose; got none.")
    events: dict[tuple[bool, str | None], list[Event]] = {}
    about = {(run.plan.unit, run.plan.neighboring, _against(run.plan)) for run in runs}
    # Where silos differ in some run, or nothing is summed, everything is put together silo by silo.
    silo_by_silo = any(run.plan.own or not run.plan.thresholds.summed for run in runs)
    parallel = _on_two_sides([plan for run in runs for plan, _ in parts(run.plan, run.plan.releases)])
    for run in runs:
        adversary, honest = run.plan.budget_adversary()
        for part, count in parts(run.plan, run.plan.releases):
            side = parallel and part.data.asked is not None
            for silo in part.facts.silos if silo_by_silo else (None,):
                own = adversary if silo is None or part.thresholds.summed else SiloMessages(silo)
                event = event_against(part, own, honest, rounds=count, silo=silo)
                events.setdefault((side, silo), []).append(event)
    if len(about) > 1:
        said = "; ".join(sorted(f"{unit.value}, {one.value}, {who}" for unit, one, who in about))
        raise ConfigurationError(
            f"runs must be about one unit, relation and adversary to be composed; got {said}."
        )
    found = max(
        (
            guarantee(
                Composed(tuple(side)),
                delta=delta,
                unit=runs[0].plan.unit,
                neighboring=runs[0].plan.neighboring,
                adversary=adversary if silo is None or runs[0].plan.thresholds.summed else SiloMessages(silo),
            )
            for (_, silo), side in events.items()
        ),
        key=lambda one: one.epsilon,
    )
    stated = [text for one in runs for text in one.plan.spent(one.plan.releases).assumptions]
    # An evaluation follows from the training's weights, which the theorem on two sides allows.
    together = [ALL_OF_A_SIDE, TWO_SIDES, NOT_MEASURED] if parallel else [ALL_PLANNED]
    simulated = [SEEDED] if any(run.record.seeded for run in runs) else []
    assumed = dict.fromkeys([*found.assumptions, *stated, *together, SAME_PEOPLE, *simulated])
    return replace(found, assumptions=tuple(assumed))


def _against(plan: Plan) -> str:
    """Says against whom a plan's target holds, in words that are the same for all plans of one kind."""
    if not plan.thresholds.summed:
        return "anyone who sees one silo's messages"
    return plan.budget_adversary()[0].describe()


def _on_two_sides(plans: Sequence[Plan]) -> bool:
    """Says whether some plans use the records that the others hold out, by the same coins.

    Coins are of one split only if everything that they hang on is the same: all rules of the records, and
    which file is which silo's. Where records are exchanged, their content may move them to the other side.
    """
    asked = {plan.data.asked is not None for plan in plans}
    relations = {plan.release.neighboring for plan in plans}
    return (
        asked == {True, False}
        and all(plan.data.asked in (None, "held-out") for plan in plans)
        and relations == {NeighboringRelation.ADD_REMOVE}
        and len({_coins(plan) for plan in plans}) == 1
    )


def _coins(plan: Plan) -> str:
    """Returns all rules by which records of a plan are read and split, as one text."""
    data: dict[str, Any] = plan.data.model_dump(
        mode="json", exclude={"asked", "record_capacity"}, exclude_none=True
    )
    data["source"] = without_folder(plan.data.source)
    data.get("person", {}).pop("capacity", None)
    return f"{sorted(plan.facts.silos)} {sorted(data.items())}"
