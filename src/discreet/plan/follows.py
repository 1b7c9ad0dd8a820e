"""Does a plan follow from its own config and facts? Whoever carries one out believes nothing else of it."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import NamedTuple

from discreet.documents import shown
from discreet.errors import ConfigurationError
from discreet.plan.aggregation import plan_thresholds
from discreet.plan.facts import record_capacities
from discreet.plan.make import make_plan
from discreet.plan.plan import Plan
from discreet.privacy.wire import Json

# Rounding of numbers that several machines work out.
_SAME = 1e-9
_MOST_SHOWN = 60


class Difference(NamedTuple):
    """Where two plans differ: the value's path, what is stated, and what it is here."""

    path: str
    stated: Json
    own: Json

    def __str__(self) -> str:
        return f"{self.path!r} is {_short(self.stated)}, and {_short(self.own)} here"


def unlike_its_config(plan: Plan) -> Difference | None:
    """Returns the first value that another plan of the same config and facts has, or None.

    Raises:
        ConfigurationError, PrivacyRefusal: if config and facts lead to no plan.
    """
    # What costs nothing to work out comes first: noise for many sorts of silo takes seconds.
    capacities = record_capacities(plan.config, plan.facts.silos)
    thresholds = plan_thresholds(plan.config, len(plan.facts.silos))
    early = first_difference(
        {"capacities": list(plan.capacities), "thresholds": asdict(plan.thresholds)},
        {"capacities": list(capacities), "thresholds": asdict(thresholds)},
    )
    if early:
        return early
    own = make_plan(plan.config, plan.facts)
    return first_difference(plan.to_json(), own.to_json())


def require_follows(plan: Plan) -> None:
    """Refuses a plan whose noise, grid, floors or guarantees were made for something else.

    Raises:
        ConfigurationError: naming the first value that differs.
    """
    difference = unlike_its_config(plan)
    if difference is not None:
        raise ConfigurationError(
            f"a plan must follow from its own config and facts; {difference}. It was altered, or another "
            "version of discreet made it. Plan again."
        )


def first_difference(stated: Json, own: Json, where: str = "") -> Difference | None:
    """Returns the first value in which two plans differ by more than rounding, or None.

    Example:
        >>> print(first_difference({"noise": {"stddev": 1.0}}, {"noise": {"stddev": 2.0}}))
        'noise.stddev' is 1.0, and 2.0 here
    """
    if isinstance(stated, dict) and isinstance(own, dict):
        keys = sorted(stated.keys() | own.keys())
        steps = ((stated.get(key), own.get(key), f"{where}.{key}".lstrip(".")) for key in keys)
        return next((found for a, b, path in steps if (found := first_difference(a, b, path))), None)
    if isinstance(stated, list) and isinstance(own, list) and len(stated) == len(own):
        items = enumerate(zip(stated, own, strict=True))
        return next((found for i, (a, b) in items if (found := first_difference(a, b, f"{where}.{i}"))), None)
    if isinstance(stated, float) and isinstance(own, float):
        same = math.isclose(stated, own, rel_tol=_SAME)
    else:
        same = type(stated) is type(own) and stated == own
    return None if same else Difference(where or "the plan", stated, own)


def _short(value: Json) -> str:
    return "left out" if value is None else shown(json.dumps(value, ensure_ascii=False), _MOST_SHOWN)
