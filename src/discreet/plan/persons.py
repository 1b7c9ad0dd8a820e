"""What a guarantee about one record says of a person who has several: read off the curve, not k times ε.

docs/theory/persons.md has the proof.
"""

from __future__ import annotations

from discreet.errors import UnsupportedAnalysisError
from discreet.plan.plan import Plan, adversary_guarantee
from discreet.plan.releases import of_several
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.units import Unit

USUAL_RECORDS = (2, 5, 10)


def for_persons(plan: Plan, *, records: tuple[int, ...] = USUAL_RECORDS) -> tuple[tuple[int, Guarantee], ...]:
    """Returns the guarantee against the budget adversary for a person with so many records at one silo.

    Guarantee:
        Two data sets that differ in up to ``k`` records of one silo, present in the one and absent in the
        other, are told apart by all rounds together no better than the k-th row says, at the plan's δ.

    Args:
        plan: about the record unit.
        records: numbers k of records, each at least 1.

    Returns:
        Pairs of k and guarantee; none where the unit is the person or the client, with all records already,
        or where no analysis is known (batches of fixed size).
    """
    if plan.unit is not Unit.RECORD:
        return ()
    adversary, honest = plan.budget_adversary()
    try:
        return tuple(
            (
                count,
                adversary_guarantee(
                    plan.config,
                    of_several(plan.release, count),
                    adversary=adversary,
                    honest_silos=honest,
                    rounds=plan.rounds,
                ),
            )
            for count in records
        )
    except UnsupportedAnalysisError:
        return ()
