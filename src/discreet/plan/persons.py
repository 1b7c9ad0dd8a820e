"""What a guarantee about one record says of a person who has several: read off the curve, not k times ε.

docs/theory/persons.md has the proof.
"""

from __future__ import annotations

from dataclasses import replace

from discreet.accounting import guarantee
from discreet.errors import UnsupportedAnalysisError
from discreet.plan.counted import parts, unlike_silos
from discreet.plan.plan import Plan
from discreet.plan.seen import adversary_event, adversary_guarantee
from discreet.privacy.events import Composed
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.units import Status, Unit

USUAL_RECORDS = (2, 5, 10)


def for_persons(plan: Plan, *, records: tuple[int, ...] = USUAL_RECORDS) -> tuple[tuple[int, Guarantee], ...]:
    """Returns the guarantee against the budget adversary for a person with so many records at one silo.

    Guarantee:
        Two data sets that differ in up to ``k`` records of one silo, present in the one and absent in the
        other, are told apart by all releases together no better than the k-th row says, at the plan's δ.
        Where held-out records are asked, some of the ``k`` may be on either side: both sides compose.

    Args:
        plan: about the record unit.
        records: numbers k of records, each at least 1.

    Returns:
        Pairs of k and guarantee; none where the unit is the person or the client, with all records already,
        or where no analysis is known (batches of fixed size).
    """
    if plan.unit is not Unit.RECORD:
        return ()
    try:
        return tuple((count, _for_several(plan, count)) for count in records)
    except UnsupportedAnalysisError:
        return ()


def _for_several(plan: Plan, count: int) -> Guarantee:
    if plan.evaluation is None:
        found = (
            adversary_guarantee(
                plan,
                adversary=adversary,
                honest_silos=honest,
                rounds=plan.releases,
                records=count,
                silo=silo,
            )
            for adversary, honest in plan.targets
            for silo in unlike_silos(plan)
        )
        return max(found, key=lambda row: row.epsilon)
    adversary, honest = plan.budget_adversary()
    # Each record has a coin of its own, so that some may be in the training and some held out.
    events = tuple(
        adversary_event(part, adversary=adversary, honest_silos=honest, rounds=releases, records=count)
        for part, releases in parts(plan, plan.releases)
    )
    one = plan.spent(plan.releases)
    both = guarantee(
        Composed(events), delta=one.delta, unit=one.unit, neighboring=one.neighboring, adversary=adversary
    )
    status = max(both.status, one.status, key=list(Status).index)
    return replace(one, epsilon=both.epsilon, status=status)
