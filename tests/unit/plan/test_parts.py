"""Code that runs a plan asks the plan for its parts, and never what the plan was asked for."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.unit.plan.planned import plan

SOURCE = Path(__file__).parents[3] / "src" / "discreet"

# Where a config is made from a plan, or a plan is worked out again from its config.
ALLOWED = {
    "session/training_run.py": "adds this machine's own tables and trains as the plan's config says",
    "verify/models.py": "works the plan out again",
}


def asks_for_config(tree: ast.Module) -> bool:
    """Says whether a module reads ``….plan.config`` or ``plan.config``."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == "config"
        and (
            (isinstance(node.value, ast.Name) and node.value.id == "plan")
            or (isinstance(node.value, ast.Attribute) and node.value.attr in ("plan", "_plan"))
        )
        for node in ast.walk(tree)
    )


def test_only_these_modules_ask_a_plan_for_its_config() -> None:
    found = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if path.parent != SOURCE / "plan" and asks_for_config(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == set(ALLOWED)


def test_the_parts_are_those_of_the_agreement() -> None:
    made = plan()
    parts = (made.name, made.data, made.model, made.training, made.privacy, made.aggregation)
    config = made.config
    assert parts == (
        config.name,
        config.data,
        config.model,
        config.training,
        config.privacy,
        config.aggregation,
    )
