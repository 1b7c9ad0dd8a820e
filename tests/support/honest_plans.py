"""Plans made again for an altered config, as an honest coordinator would send them."""

from __future__ import annotations

from typing import Any

from discreet.config import parse_config
from discreet.plan import FederationFacts, make_plan


def plan_again(plan: Any) -> None:
    """Gives the JSON of a plan the numbers and guarantees that follow from its config and facts."""
    fields: dict[str, Any] = {
        name: tuple(item) if isinstance(item, list) else item for name, item in plan["facts"].items()
    }
    plan.update(make_plan(parse_config(plan["config"]), FederationFacts(**fields)).to_json())
