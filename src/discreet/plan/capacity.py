"""What is left of a plan's guarantees where silos held more records than they promised."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from discreet.config.data import CAPACITY, PERSON_CAPACITY
from discreet.plan.plan import Plan
from discreet.privacy.assumptions import numbered
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.notation import pair_text
from discreet.privacy.units import NeighboringRelation


def beyond_capacity(plan: Plan, guarantees: Sequence[Guarantee], surplus: Mapping[str, int]) -> str:
    """Says what is left of the guarantees where silos held more records than their capacity; or nothing.

    Which of too many records stay is decided by a public hash of each, so one record more or less puts at
    most one other out or in: two steps of one record lead from one world's training records to the other's,
    and (ε, δ) becomes (2ε, (1 + e^ε) δ) (docs/theory/rows.md). A record that is exchanged for another leaves
    its place or id to it, so nothing changes there.

    Args:
        plan: what was carried out.
        guarantees: all rows.
        surplus: silo to its number of records that were left out.
    """
    budget = plan.spent(plan.rounds)
    capacity = next((one for one in (CAPACITY, PERSON_CAPACITY) if one in budget.assumptions), None)
    if not surplus or capacity is None:
        return ""
    if budget.neighboring is not NeighboringRelation.ADD_REMOVE:
        return ""
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
