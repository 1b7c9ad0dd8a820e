"""What is left of a plan's guarantees where silos held more records than they promised."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from discreet.config.data_assumptions import capacity_assumption
from discreet.plan.plan import Plan
from discreet.privacy.assumptions import numbered
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.notation import pair_text
from discreet.privacy.units import NeighboringRelation


def exceeded(plan: Plan, surplus: Mapping[str, int]) -> str | None:
    """Returns the assumption that fails where silos held more records, or persons, than their capacity.

    None where nobody did, or where the plan's neighbours differ in a unit that is exchanged for another,
    which leaves its place or id to it, so that nothing changes there.
    """
    if not surplus:
        return None
    budget, capacity = plan.spent(plan.releases), capacity_assumption(plan.data)
    added = budget.neighboring is NeighboringRelation.ADD_REMOVE
    return capacity if added and capacity in budget.assumptions else None


def beyond_capacity(plan: Plan, guarantees: Sequence[Guarantee], surplus: Mapping[str, int]) -> str:
    """Says what is left of the guarantees where silos held more records than their capacity; or nothing.

    Which of too many records stay is decided by a public hash of each, so one record more or less puts at
    most one other out or in: two steps of one record lead from one world's training records to the other's,
    and (ε, δ) becomes (2ε, (1 + e^ε) δ) (docs/theory/rows.md).

    Args:
        plan: what was carried out.
        guarantees: all rows.
        surplus: silo to its number of records, or persons, that were left out.
    """
    capacity = exceeded(plan, surplus)
    if capacity is None:
        return ""
    budget = plan.spent(plan.releases)
    number = numbered(guarantees)[capacity]
    unit = budget.unit.value
    held = ", ".join(f"{silo} held {count} more" for silo, count in surplus.items())
    epsilon, delta = 2.0 * budget.epsilon, (1.0 + math.exp(budget.epsilon)) * budget.delta
    return (
        f"A{number} FAILS HERE: {held} than the capacity, and these {unit}s were left out. So one {unit} "
        "more or less there can put another one out or in, and every guarantee is weaker than it says: "
        f"against {budget.adversary.describe()}, {pair_text(epsilon, delta)} in place of "
        f"{pair_text(budget.epsilon, budget.delta)}. Agree on a larger capacity."
    )
