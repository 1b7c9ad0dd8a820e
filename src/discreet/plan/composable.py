"""What releases of a plan cost, in a form that other programs add up to costs of their own."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from discreet.accounting.composable import Composable, composable
from discreet.plan.counted import parts, unlike_silos
from discreet.plan.guaranteed import event_against
from discreet.privacy.wire import Json

if TYPE_CHECKING:
    from discreet.plan.plan import Plan


def composable_cost(plan: Plan) -> dict[str, Json]:
    """Returns what all releases of a plan cost against its budget adversary, as plain JSON.

    Guarantee:
        It holds whenever the training ends; for those that were released by then nothing would be proven,
        since what they showed may have ended it. Unit, relation and adversary are those of
        ``plan.spent(plan.releases)``; the rest is the curve of the same event
        (`discreet.accounting.composable.Composable`); number by number the largest one, where held-out units
        are asked, silos differ or nothing is summed: a unit has the curve of its side, and of its silo.
    """
    costs = [
        composable(event_against(part, who, shares, rounds=count, silo=silo), plan.release.neighboring)
        for part, count in parts(plan, plan.releases)
        for who, shares in plan.targets
        for silo in (unlike_silos(part) if plan.thresholds.summed else (None,))
    ]
    found = dataclasses.asdict(costs[0] if len(costs) == 1 else _largest(costs))
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}
    about = {"unit": plan.unit.value, "neighboring": plan.neighboring.value}
    return {"version": 1, **about, "adversary": plan.budget_adversary()[0].describe(), **plain}


def _largest(costs: list[Composable]) -> Composable:
    """Returns a curve that is nowhere below any of some; a number that one of them lacks is in none."""
    renyi = zip(*(one.renyi for one in costs), strict=True)
    return Composable(
        orders=costs[0].orders,
        renyi=tuple(_most(values) for values in renyi),
        mu=_most([one.mu for one in costs]),
        log_ratio=max(one.log_ratio for one in costs),
        failure=max(one.failure for one in costs),
        distance=max(one.distance for one in costs),
    )


def _most(values: Iterable[float | None]) -> float | None:
    known = [(math.inf if value is None else value) for value in values]
    return None if math.isinf(max(known)) else max(known)
