"""Several runs together: what everything that they released tells about one unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from discreet.accounting import guarantee
from discreet.errors import ConfigurationError
from discreet.privacy.events import Composed
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.units import NeighboringRelation, Unit
from discreet.session.runs import Run

ALL_PLANNED = "all of these trainings were decided upon before anything of the first was seen"
SAME_PEOPLE = "all of these trainings are charged to the same silos and the same people"


def composed(runs: Sequence[Run], *, delta: float) -> Guarantee:
    """Returns the guarantee of several runs together, against the strongest adversary of their plans.

    Guarantee:
        Loss distributions of all charged releases are composed exactly, so that ε is far below the sum of
        the runs' own. That is proven for trainings that were all fixed beforehand; for those that were chosen
        by earlier results a silo's filter is (docs/theory/budgets.md). Records that took part in one run only
        are protected by that run's own guarantee, which is stronger.

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
    events, about = [], set[tuple[Unit, NeighboringRelation, str]]()
    for run in runs:
        adversary, honest = run.plan.budget_adversary()
        charged = run.record.spending.charged
        relation = run.plan.spent(charged).neighboring
        about.add((run.plan.unit, relation, adversary.describe()))
        if charged:
            events.append(run.plan.event_against(adversary, honest, rounds=charged))
    if len(about) > 1:
        said = "; ".join(sorted(f"{unit.value}, {one.value}, {who}" for unit, one, who in about))
        raise ConfigurationError(
            f"runs must be about one unit, relation and adversary to be composed; got {said}."
        )
    found = guarantee(
        Composed(tuple(events)), delta=delta, unit=run.plan.unit, neighboring=relation, adversary=adversary
    )
    stated = [text for one in runs for text in one.plan.spent(one.record.spending.charged).assumptions]
    assumed = dict.fromkeys([*found.assumptions, *stated, ALL_PLANNED, SAME_PEOPLE])
    return replace(found, assumptions=tuple(assumed))
