"""Plans for tests of the guarantee table: five silos, 650 coordinates."""

from __future__ import annotations

from typing import Any

from discreet.config import parse_config
from discreet.plan import FederationFacts, Plan, make_plan


def plan(
    local: dict[str, Any] | None = None,
    *,
    silos: int = 5,
    rounds: int = 20,
    sampling: dict[str, Any] | None = None,
    data: dict[str, Any] | None = None,
    aggregation: dict[str, Any] | None = None,
    schedule: dict[str, Any] | None = None,
    own: dict[str, Any] | None = None,
    **privacy: Any,
) -> Plan:
    """Plans for so many coordinates that the likely rounding bound is smaller than the certain one."""
    local = local or {"kind": "single-step"}
    if local["kind"] != "stable-steps":
        privacy = {"clip_norm": 1.0, **privacy}
    config = parse_config(
        {
            "data": {"source": "digits", "record_capacity": 400, **(data or {})},
            "training": {
                "rounds": rounds,
                "local": local,
                **({"sampling": sampling} if sampling else {}),
                **({"schedule": schedule} if schedule else {}),
            },
            **({"silos": own} if own else {}),
            "privacy": {"epsilon": 2.0, "delta": 1e-5, **privacy},
            "aggregation": aggregation or {},
        }
    )
    names = tuple(f"silo-{number}" for number in range(silos))
    facts = FederationFacts(names, (64,), 10, 1.0, 650, "0" * 64, 10, linear=True)
    return make_plan(config, facts)
