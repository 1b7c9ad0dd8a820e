"""A kind is two files: how many others name it is counted, so that it does not spread again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import discreet

SOURCES = Path(discreet.__file__).parent
# A line in the union of tables, one in that of values. Besides: float32 rows that are computed together are
# measured, clients in one process step together, a norm that moves asks for a count, audits take noise
# inside steps apart, and stable-steps may leave their settings to the plan.
OTHERS = {
    "SingleStep": {"learning/alike.py", "kinds/quantile_clipped.py"},
    "ClippedUpdate": {"kinds/quantile_clipped.py", "rounds/silos.py"},
    "Sharded": {"learning/alike.py"},
    "StableSteps": {"kinds/untuned_steps.py", "plan/untuned.py"},
    "TangentSteps": {"learning/alike.py"},
    "NoisySteps": {"learning/alike.py", "audit/neighbours.py", "audit/training.py"},
}

# Tables of samplings, server rules and schedules: what differs between them they say themselves.
COMPONENTS = (
    "PoissonConfig",
    "FixedSizeConfig",
    "MomentumConfig",
    "AdaptiveConfig",
    "BufferedConfig",
    "AloneConfig",
)


@pytest.mark.parametrize("kind", OTHERS)
def test_a_kind_is_named_where_it_must_be_and_nowhere_else(kind: str) -> None:
    module = re.sub(r"(?<!^)(?=[A-Z])", "_", kind).lower()
    own = {f"kinds/{module}.py", f"learning/{module}.py", "kinds/__init__.py", "learning/arithmetic.py"}
    found = {
        path.relative_to(SOURCES).as_posix()
        for path in SOURCES.rglob("*.py")
        if re.search(rf"import[^#]*\b{kind}(Config)?\b|class {kind}\b", path.read_text(encoding="utf-8"))
    }
    assert found == own | OTHERS[kind]


def test_no_code_asks_which_sampling_server_rule_or_schedule_it_has() -> None:
    """Neither by its class nor by its name; where there is none, or plain averaging, is another question."""
    outside = [path for path in SOURCES.rglob("*.py") if path.parent.name != "kinds"]
    named = re.compile(rf"\b({'|'.join(COMPONENTS)})\b|(sampling|server|schedule)\.kind\b *(==|!=|in\b)")
    assert [path.name for path in outside if named.search(path.read_text(encoding="utf-8"))] == []
