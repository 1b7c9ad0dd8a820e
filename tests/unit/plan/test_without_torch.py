"""A plan for a linear head is worked out without torch, and is the one that torch's own model leads to."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.config import Config, load_config, parse_config
from discreet.engines.local import prepare
from discreet.errors import ConfigurationError
from discreet.kinds.model_facts import ModelFacts, linear_facts
from discreet.models import build_model, described
from discreet.plan import Plan, load_plan, make_plan
from discreet.plan.assumptions import STATELESS
from discreet.plan.over_records import plan_over_records
from discreet.plan.public_model import public_model
from discreet.privacy.wire import digest
from discreet.session import train

HEART = Path(__file__).parents[2] / "support" / "tuned_heart.toml"
_WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None  # whoever imports it fails
from discreet.cli.app import main
sys.argv = ["discreet", "plan", sys.argv[1], "--json"]
main()
"""


def test_the_command_needs_no_torch() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_TORCH, str(HEART)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert plan_over_records(load_config(HEART)).plan.digest() in done.stdout


def test_it_is_the_plan_that_runs() -> None:
    config = load_config(HEART)
    assert plan_over_records(config).plan.digest() == prepare(config).plan.digest()


@pytest.mark.parametrize(
    ("shape", "classes"), [((6,), 1), ((6,), 2), ((6,), 3), ((4, 5), 2), ((1, 8, 8), 10)]
)
def test_the_facts_of_a_linear_head_are_those_of_the_model(shape: tuple[int, ...], classes: int) -> None:
    assert linear_facts(shape, classes) == described(build_model("logistic", shape, classes, seed=3), shape)


def test_a_linear_head_needs_two_classes_or_a_number() -> None:
    with pytest.raises(ConfigurationError, match="at least 2 classes, or 1 for a number; got 0"):
        linear_facts((6,), 0)


@pytest.mark.parametrize("stated", [{"outputs": 2}, {"model_digest": "0" * 64}])
def test_facts_that_the_model_does_not_have_are_refused(stated: dict[str, Any]) -> None:
    """What a plan says of its model decides sensitivity and noise; whoever trains compares it."""
    plan = plan_over_records(load_config(HEART)).plan
    lying = dataclasses.replace(plan, facts=dataclasses.replace(plan.facts, **stated))
    with pytest.raises(ConfigurationError, match="must be that of the model built here"):
        public_model(lying)


def test_planning_again_takes_the_facts_alone() -> None:
    plan = plan_over_records(load_config(HEART)).plan
    assert plan.facts.model == ModelFacts(16, plan.facts.model_digest, 1, linear=True)
    assert make_plan(plan.config, plan.facts).digest() == plan.digest()


@pytest.mark.parametrize(
    "change",
    [
        lambda plan: dataclasses.replace(plan, grid=dataclasses.replace(plan.grid, l2_sensitivity=1.0)),
        lambda plan: dataclasses.replace(plan, capacities=tuple(2 * count for count in plan.capacities)),
        lambda plan: dataclasses.replace(plan, config=longer_steps(plan.config)),
        lambda plan: dataclasses.replace(plan, guarantees=plan.guarantees[:-1]),
    ],
    ids=["grid", "capacities", "config", "guarantees"],
)
def test_a_plan_that_does_not_follow_from_its_config_trains_nothing(
    change: Callable[[Plan], Plan], tmp_path: Path
) -> None:
    """Its noise would be made for another sensitivity than that of what runs."""
    honest = plan_over_records(load_config(HEART)).plan
    forged = change(honest)
    forged.save(tmp_path / "plan.json")
    with pytest.raises(ConfigurationError, match="must follow from its own config and facts"):
        train(load_plan(tmp_path / "plan.json"), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def longer_steps(config: Config) -> Config:
    data = config.model_dump(mode="json", exclude_none=True)
    data["training"]["local"]["learning_rate"] *= 1.2
    return parse_config(data)


def test_a_model_of_ones_own_is_assumed_to_keep_no_state() -> None:
    plan = plan_over_records(load_config(HEART)).plan
    own = plan.config.model_copy(update={"model": plan.config.model.model_copy(update={"name": "mine:net"})})
    assert STATELESS not in plan.guarantees[0].assumptions
    assert all(STATELESS in row.assumptions for row in make_plan(own, plan.facts).guarantees)


def test_a_table_that_is_no_part_of_the_agreement_is_refused(tmp_path: Path) -> None:
    plan = plan_over_records(load_config(HEART)).plan.to_json()
    assert isinstance(plan, dict)
    assert isinstance(plan["config"], dict)
    plan["config"]["run"] = {"seed": 7}
    (tmp_path / "plan.json").write_text(json.dumps({"digest": digest(plan), "plan": plan}))
    with pytest.raises(ConfigurationError, match="must hold no table of a machine"):
        load_plan(tmp_path / "plan.json")


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [("steps", 10**12, "2500"), ("steps", 2501, "2500"), ("momentum", 0.1234567, "6 decimals")],
)
def test_local_steps_whose_weights_nobody_can_work_out_are_refused(
    key: str, value: float, allowed: str
) -> None:
    data = load_config(HEART).model_dump(mode="json", exclude_none=True)
    data["training"]["local"] = {"kind": "noisy-steps", "learning_rate": 0.1, "steps": 2, key: value}
    with pytest.raises(ConfigurationError, match=allowed):
        parse_config(data)


def test_a_bundled_model_is_linear_or_not_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network called linear would be made at a width that only linear models may have."""
    monkeypatch.setattr("discreet.plan.public_model.build_model", pytest.fail)
    plan = plan_over_records(load_config(HEART)).plan
    network = plan.config.model_copy(update={"model": plan.config.model.model_copy(update={"name": "mlp"})})
    with pytest.raises(ConfigurationError, match=r"'facts\.linear' must be False for 'mlp'"):
        public_model(dataclasses.replace(plan, config=network))


def test_more_classes_than_anybody_writes_down_are_refused() -> None:
    """A silo makes a text for each, whatever its file holds."""
    data = load_config(HEART).model_dump(mode="json", exclude_none=True)
    data["data"].update(num_classes=10**12)
    with pytest.raises(ConfigurationError, match="65536"):
        parse_config(data)
