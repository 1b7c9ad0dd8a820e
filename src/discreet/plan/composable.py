"""What releases of a plan cost, in a form that other programs add up to costs of their own."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from discreet.accounting.composable import composable
from discreet.privacy.wire import Json

if TYPE_CHECKING:
    from discreet.plan.plan import Plan


def composable_cost(plan: Plan, releases: int) -> dict[str, Json]:
    """Returns what so many releases of a plan cost against its budget adversary, as plain JSON.

    Guarantee:
        Unit, relation and adversary are those of ``plan.spent(releases)``; the rest is the curve of the same
        event (`discreet.accounting.composable.Composable`).
    """
    adversary, honest = plan.budget_adversary()
    event = plan.event_against(adversary, honest, rounds=releases)
    found = dataclasses.asdict(composable(event, plan.release.neighboring))
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}
    about = {"unit": plan.unit.value, "neighboring": plan.neighboring.value}
    return {"version": 1, **about, "adversary": adversary.describe(), **plain}
