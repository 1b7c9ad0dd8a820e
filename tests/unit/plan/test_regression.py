"""A plan says that it is a regression, gives Huber's loss its noise, and refuses what is not proven."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from discreet.config import load_config, parse_config
from discreet.errors import ConfigurationError
from discreet.kinds import Huber, StableSteps
from discreet.plan import Plan, make_plan, parse_plan
from discreet.plan.over_records import plan_over_records
from discreet.plan.uncalibrated import uncalibrated
from discreet.session.public import plan_without_data

ROOT = Path(__file__).parents[3]
STABLE = {"kind": "stable-steps", "learning_rate": 0.5, "steps": "each"}


def tables(local: dict[str, Any] | None = None, *, model: Any = None, **data: Any) -> dict[str, Any]:
    stated = {
        "source": "csv:unset.csv",
        "label": "stay",
        "label_range": [0, 60],
        "ranges": {"age": [0, 100], "weight": [40, 120]},
        "record_capacity": {"north": 500, "south": 300, "west": 400},
    }
    return {
        "data": stated | data,
        "training": {"local": local or STABLE, "rounds": 20},
        "model": {"name": "logistic"} | (model or {}),
        "privacy": {"epsilon": 1.0, "delta": 1e-5},
    }


def planned(local: dict[str, Any] | None = None, **changes: Any) -> Plan:
    return plan_without_data(parse_config(tables(local, **changes), source="test"))


def loss_of(plan: Plan) -> object:
    training = plan.silo_training("north")
    assert isinstance(training, StableSteps)
    return training.loss


def test_the_plan_says_that_it_is_a_regression_and_comes_back_from_its_document() -> None:
    plan = planned()
    assert (plan.facts.num_classes, plan.facts.outputs, plan.facts.dimension) == (1, 1, 3)
    assert plan.data.label_range == (0.0, 60.0)
    assert parse_plan(plan.document()).digest() == plan.digest()
    assert planned(label_range=[0, 61]).digest() != plan.digest()


@pytest.mark.parametrize("cap", [1.0, 0.25])
def test_the_residual_cap_is_the_threshold_and_noise_follows_it(cap: float) -> None:
    plan, whole = planned(STABLE | {"residual_cap": cap}), planned()
    assert loss_of(plan) == Huber(cap)
    stddevs = [one.release.share.variance**0.5 / one.grid.scale for one in (plan, whole)]
    assert stddevs[0] == pytest.approx(cap * stddevs[1], rel=0.02)
    assert not uncalibrated(plan), "a regression has no probabilities"


def test_the_smoothness_limits_the_learning_rate() -> None:
    planned(STABLE | {"learning_rate": 2.0})
    with pytest.raises(ConfigurationError, match="non-expansive"):
        planned(STABLE | {"learning_rate": 2.001})


def test_what_is_left_to_the_plan_is_worked_out() -> None:
    plan = planned({"kind": "stable-steps"})
    assert isinstance(loss_of(plan), Huber)
    assert plan.rounds >= 20


OTHERS: list[dict[str, Any]] = [
    {"kind": "single-step"},
    {"kind": "tangent-steps", "learning_rate": 0.01, "steps": 2},
    {"kind": "sharded", "learning_rate": 0.1, "groups": 4},
    {"kind": "noisy-steps", "learning_rate": 0.1, "steps": 2},
    {"kind": "clipped-update", "learning_rate": 0.1},
]


@pytest.mark.parametrize("local", OTHERS, ids=[str(one["kind"]) for one in OTHERS])
def test_other_kinds_refuse_a_number_in_one_line(local: dict[str, Any]) -> None:
    config = tables(local)
    config["privacy"] |= {"clip_norm": 1.0, "unit": "client" if "update" in local["kind"] else "record"}
    with pytest.raises(ConfigurationError, match=f"label_range.*{local['kind']}") as refused:
        plan_without_data(parse_config(config, source="test"))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["mlp", f"{__name__}:two_outputs"])
def test_other_models_refuse_a_number(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"'data.label_range' must be with a linear model"):
        planned(model={"name": name})


def two_outputs(feature_shape: tuple[int, ...], num_classes: int) -> Any:
    from torch import nn

    return nn.Linear(feature_shape[0], 2 * num_classes, bias=False)


def test_a_loss_of_ones_own_is_refused() -> None:
    own = {"function": "module:loss", "residual_norm": 1.0, "curvature": 1.0}
    with pytest.raises(ConfigurationError, match=r"'model.loss' must be left out where 'data.label_range'"):
        planned(model={"loss": own})


@pytest.mark.parametrize(("classes", "stated"), [(2, {}), (1, {"label_range": None, "num_classes": 2})])
def test_facts_of_another_kind_of_label_are_refused(classes: int, stated: dict[str, Any]) -> None:
    plan = planned()
    config = parse_config(tables(**stated), source="test")
    facts = dataclasses.replace(plan.facts, num_classes=classes)
    with pytest.raises(ConfigurationError, match=r"'facts.num_classes' must be 1 where 'data.label_range'"):
        make_plan(config, facts)


def test_persons_are_protected_by_the_same_plan() -> None:
    config = tables()
    person = {"column": "patient", "capacity": config["data"].pop("record_capacity"), "most_records": 5}
    config["data"]["person"] = person
    config["privacy"]["unit"] = "person"
    plan = plan_without_data(parse_config(config, source="test"))
    assert loss_of(plan) == Huber(1.0)
    assert plan.silo_training("north").l2_sensitivity() == pytest.approx(
        planned().silo_training("north").l2_sensitivity()
    )


# Silos keep plans, and compare. The second and third follow from the rule for settings left to the plan.
DIGESTS = {
    "heart": ("tests/support/tuned_heart.toml", "533d3d39a1c0b167"),
    "untuned": ("examples/heart.toml", "cefffb0cc6aaf738"),
    "heart, additive": ("examples/heart_additive.toml", "9047d267b0876c6c"),
}


@pytest.mark.parametrize("name", DIGESTS)
def test_plans_of_classifiers_keep_their_digest(name: str) -> None:
    path, digest = DIGESTS[name]
    config = load_config(ROOT / path).model_copy(update={"name": name})
    assert plan_over_records(config).plan.digest().startswith(digest)
