"""Public weights of classes: the steps that they lead to, what is refused, and what nothing changes."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from discreet.cli.promises import plan_table
from discreet.config import Config, parse_config
from discreet.data import Records, scale_to_norm, with_constant
from discreet.engines.local import prepare, run
from discreet.errors import ConfigurationError
from discreet.kinds import BinaryLogistic, Capped, Softmax, StableSteps
from discreet.kinds.weighted import Weighted, linear_head_of, weighted
from discreet.learning import local_update
from discreet.models import LinearHead
from discreet.plan import parse_plan
from discreet.randomness import SeededRandom
from discreet.released import model_card
from discreet.report import write_report

STEPS = {"kind": "stable-steps", "learning_rate": 0.02, "steps": 8}


def config(local: dict[str, Any], **privacy: Any) -> Config:
    rounds = {"rounds": 2} if "learning_rate" in local else {}
    return parse_config(
        {
            "name": "weights",
            "data": {"source": "heart-disease", "record_capacity": 303},
            "training": rounds | {"local": local},
            "privacy": {"epsilon": 1.0, "delta": 1e-5} | privacy,
            "aggregation": {"min_survivors": 3},
        }
    )


def test_each_record_pulls_by_the_weight_of_its_class() -> None:
    rng = np.random.default_rng(1)
    features = rng.normal(size=(12, 4)).astype(np.float32)
    features /= 2.0 * np.linalg.norm(features, axis=1, keepdims=True)
    labels = rng.integers(0, 3, 12)
    start = rng.normal(size=12)
    loss = weighted(Softmax(3), (1, 4, 2))
    kind = StableSteps(loss=loss, norm_bound=1.0, learning_rate=0.3, steps=1, record_capacity=12)
    found = local_update(kind, LinearHead(4, 3), start, Records(features, labels), SeededRandom(1)).vector
    logits = features @ start.reshape(3, 4).T
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    by_hand = np.zeros((3, 4))
    for row, label, own in zip(features, labels, probabilities, strict=True):
        by_hand -= 0.3 * (0.25, 1.0, 0.5)[label] * np.outer(own - np.eye(3)[label], row)
    assert found == pytest.approx(by_hand.ravel(), rel=1e-5)


def test_noise_and_guarantee_are_those_without_weights() -> None:
    plain, other = (prepare(config(local)).plan for local in (STEPS, STEPS | {"class_weights": [1, 10]}))
    assert plain.guarantees == other.guarantees
    assert plain.release == other.release
    assert plain.grid == other.grid
    assert plain.digest() != other.digest()
    # Their ratio is what is stated, and nothing else.
    again = prepare(config(STEPS | {"class_weights": [2, 20]})).plan
    losses = [plan.silo_training(plan.facts.silos[0]).loss for plan in (other, again)]
    assert losses[0] == losses[1] == Weighted(BinaryLogistic(), (0.1, 1.0))


def test_a_plan_keeps_and_tells_them() -> None:
    plan = prepare(config(STEPS | {"class_weights": [1, 10]})).plan
    assert "class weights 1 to 10" in plan.training.local.describe()
    assert parse_plan(plan.document()).training == plan.training


def test_the_plans_own_settings_keep_them() -> None:
    plain = prepare(config({"kind": "stable-steps"})).plan
    plan = prepare(config({"kind": "stable-steps", "class_weights": [1, 3]})).plan
    local = plan.training.local
    assert local == plain.training.local.model_copy(update={"class_weights": (1.0, 3.0)})
    assert plan.rounds == plain.rounds


@pytest.mark.parametrize("stated", ["balanced", "auto"])
def test_weights_from_the_records_are_refused(stated: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        config(STEPS | {"class_weights": stated})
    words = str(refused.value)
    assert "'training.local.class_weights': must be public numbers, one for each class" in words
    assert "counted from private records" in words
    assert f"got {stated!r}" in words


@pytest.mark.parametrize(
    "stated", [[1], [1, 0], [1, -2], [1, float("inf")], [1, float("nan")], [1, "b"], 3, {"no": 1, "yes": 9}]
)
def test_other_things_are_no_weights(stated: Any) -> None:
    with pytest.raises(ConfigurationError) as refused:
        config(STEPS | {"class_weights": stated})
    words = str(refused.value)
    assert (
        "'training.local.class_weights': must be a list of two or more numbers above 0, one for each" in words
    )
    assert words.endswith(f"as in [1, 10]; got {stated!r}.")


def test_there_is_one_for_each_class() -> None:
    with pytest.raises(ConfigurationError, match="a number for each of 2 classes; got 3"):
        prepare(config(STEPS | {"class_weights": [1, 2, 3]}))


def test_a_kind_without_weights_does_not_know_the_key() -> None:
    with pytest.raises(
        ConfigurationError, match=r"'training\.local\.class_weights'\. It is a key of .*stable-steps"
    ):
        config({"kind": "single-step", "class_weights": [1, 2]}, clip_norm=1.0)


def test_constants_are_those_of_the_loss_inside() -> None:
    inside = Capped(Softmax(3), 0.4)
    loss = weighted(inside, (1, 5, 2))
    assert loss.lipschitz(2.0) == inside.lipschitz(2.0)
    assert loss.smoothness(2.0) == inside.smoothness(2.0)
    assert linear_head_of(loss) == Softmax(3)
    assert weighted(inside, None) is inside
    with pytest.raises(ConfigurationError, match=r"in \(0, 1\]"):
        Weighted(inside, (1.0, 2.0, 1.0))


def test_plan_report_and_card_show_them(tmp_path: Path) -> None:
    asked = config(STEPS | {"class_weights": [1, 10]})
    directory = run(asked, tmp_path / "run").directory.path
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(plan_table(prepare(asked).plan))
    assert re.search(r"class weights\W+1 to 10", console.export_text())
    assert "class weights 1 to 10" in write_report(directory).read_text(encoding="utf-8")
    assert "class weights 1 to 10" in model_card(directory)


def test_a_rare_class_is_found_more_often() -> None:
    """One record in ten is of class 1; without noise, a weight of 9 makes the classes as one to one."""
    rng = np.random.default_rng(2)
    labels = (rng.uniform(size=600) < 0.1).astype(np.int64)
    raw = rng.normal(size=(600, 2)) + labels[:, None]
    features = scale_to_norm(with_constant(raw), 1.0)
    recalls = []
    for stated in (None, (1.0, 9.0)):
        loss = weighted(BinaryLogistic(), stated)
        kind = StableSteps(loss=loss, norm_bound=1.0, learning_rate=0.01, steps=1, record_capacity=600)
        weights = np.zeros(3)
        for seed in range(300):
            records = Records(features, labels)
            weights += local_update(kind, LinearHead(3, 1), weights, records, SeededRandom(seed)).vector
        recalls.append((features[labels == 1] @ weights > 0).mean())
    assert recalls[0] < 0.4
    assert recalls[1] > 0.6
