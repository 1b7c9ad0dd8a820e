"""Several labels: the loss by hand, its constants where they are reached, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from discreet.arrays import Floats
from discreet.config import parse_config
from discreet.engines.local import prepare
from discreet.errors import ConfigurationError
from discreet.kinds import Capped, MultiLabel, StableStepsConfig
from discreet.kinds.float_error import labels_residual_error
from discreet.learning.losses import record_losses
from discreet.models import JointLabels, LinearHead, build_model, convexity

LABELS = (2, 3, 8)


def rows(labels: int, scale: float, seed: int = 0, count: int = 60) -> tuple[Floats, Any]:
    draw = np.random.default_rng(seed)
    return draw.normal(scale=scale, size=(count, labels)), draw.integers(0, 1 << labels, count)


def answers(numbers: Any, labels: int) -> Floats:
    return np.array([[float(number >> place & 1) for place in range(labels)] for number in numbers])


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("scale", [0.1, 2.0, 20.0])
def test_the_loss_is_the_sum_of_binary_losses_and_the_cross_entropy_of_the_combinations(
    labels: int, scale: float
) -> None:
    logits, numbers = rows(labels, scale)
    losses, residuals = MultiLabel(labels).losses_and_residuals(logits, numbers)
    outputs = torch.tensor(logits, requires_grad=True)
    by_hand = nn.functional.binary_cross_entropy_with_logits(
        outputs, torch.tensor(answers(numbers, labels)), reduction="none"
    ).sum(dim=1)
    np.testing.assert_allclose(losses, by_hand.detach().numpy(), rtol=1e-9, atol=1e-12)
    (gradient,) = torch.autograd.grad(by_hand.sum(), outputs)
    np.testing.assert_allclose(residuals, gradient.numpy(), atol=1e-12)
    joint = JointLabels(nn.Identity(), labels).double()(torch.tensor(logits))
    np.testing.assert_allclose(
        record_losses(joint, torch.tensor(numbers)).numpy(), losses, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("cap", [1.0, 0.3])
@given(scale=st.floats(0.01, 100.0), seed=st.integers(0, 2**32 - 1))
def test_it_is_convex_and_no_gradient_is_longer_or_less_smooth_than_claimed(
    labels: int, cap: float, scale: float, seed: int
) -> None:
    head: Any = MultiLabel(labels) if cap == 1.0 else Capped(MultiLabel(labels), cap)
    (first, numbers), (second, _) = rows(labels, scale, seed), rows(labels, scale, seed + 1)
    ends = [head.losses_and_residuals(point, numbers) for point in (first, second)]
    middle, _ = head.losses_and_residuals((first + second) / 2, numbers)
    assert np.all(middle <= (ends[0][0] + ends[1][0]) / 2 + 1e-12 * (1 + scale))
    assert np.linalg.norm(ends[0][1], axis=1).max() <= head.lipschitz(1.0) * (1 + 1e-12)
    moved = np.linalg.norm(ends[0][1] - ends[1][1], axis=1)
    assert np.all(moved <= head.smoothness(1.0) * np.linalg.norm(first - second, axis=1) + 1e-12)


@pytest.mark.parametrize("labels", LABELS)
def test_both_constants_are_reached(labels: int) -> None:
    for head in (MultiLabel(labels), Capped(MultiLabel(labels), 0.3)):
        _, residuals = head.losses_and_residuals(np.full((1, labels), 60.0), np.array([0]))
        assert float(np.linalg.norm(residuals)) == pytest.approx(head.lipschitz(1.0), rel=1e-9)
    step, numbers = 1e-5, np.zeros(labels, dtype=np.int64)
    shifts = step * np.eye(labels)
    above, below = (MultiLabel(labels).losses_and_residuals(by, numbers)[1] for by in (shifts, -shifts))
    largest = np.linalg.eigvalsh((above - below) / (2 * step)).max()
    assert largest == pytest.approx(MultiLabel(labels).smoothness(1.0), rel=1e-7)


@pytest.mark.parametrize("labels", LABELS)
def test_residuals_are_rounded_by_no_more_than_is_counted(labels: int) -> None:
    logits, numbers = rows(labels, 3.0, count=20)
    _, found = MultiLabel(labels).losses_and_residuals(logits, numbers)
    with mpmath.workdps(40):
        for row, wanted, residual in zip(logits, answers(numbers, labels), found, strict=True):
            exact = [1 / (1 + mpmath.exp(-mpmath.mpf(z))) - y for z, y in zip(row, wanted, strict=True)]
            off = [float(mine - other) for mine, other in zip(residual, exact, strict=True)]
            assert np.linalg.norm(off) <= labels_residual_error(labels)


def test_the_model_that_is_trained_must_be_of_this_head() -> None:
    assert convexity(JointLabels(LinearHead(4, 3), 3)) == MultiLabel(3)
    assert convexity(JointLabels(nn.Sequential(nn.Linear(4, 3)), 3)) is None
    made = build_model("mlp", (4,), 8, seed=0, labels=3)
    assert made(torch.zeros(2, 4)).shape == (2, 8)


def one_output(shape: tuple[int, ...], classes: int) -> nn.Module:
    """A factory that knows no labels."""
    del classes
    return nn.Linear(shape[0], 1)


def config(**changes: Any) -> Any:
    stated: dict[str, Any] = {
        "data": {
            "source": {name: f"csv:{name}.csv" for name in "abc"},
            "label": ["diabetes", "stroke"],
            "classes": ["no", "yes"],
            "ranges": {"age": [0, 1]},
            "record_capacity": 50,
        },
        "model": {},
        "training": {"local": {"kind": "stable-steps"}},
        "privacy": {"epsilon": 2.0, "delta": 1e-5},
        "aggregation": {"min_survivors": 3},
    }
    given = {key: changes[key] for key in changes.keys() - stated.keys()}
    return parse_config({key: stated[key] | changes.get(key, {}) for key in stated} | given)


@pytest.fixture
def tables(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in "abc":
        lines = [f"{at / 40},{('no', 'yes')[at % 2]},{('no', 'yes')[at > 30]},no" for at in range(40)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["age,diabetes,stroke,fall", *lines]) + "\n")


@pytest.mark.usefixtures("tables")
def test_the_plan_accounts_for_all_labels_of_a_record_together() -> None:
    plan = prepare(config()).plan
    training: Any = plan.silo_training("a")
    assert training.loss == Capped(MultiLabel(2), 0.5)
    assert (plan.facts.dimension, plan.facts.outputs, plan.facts.num_classes) == (2 * 2, 2, 4)
    assert isinstance(plan.training.local, StableStepsConfig)
    rate = plan.training.local.learning_rate
    assert training.l2_sensitivity() == pytest.approx(rate * 0.5 * math.sqrt(2.0), rel=2e-3)


@pytest.mark.usefixtures("tables")
def test_a_record_that_lacks_one_label_is_left_out_and_told_of(tmp_path: Any) -> None:
    rows = ["age,diabetes,stroke", "0.1,yes,no", "0.2,,no", "0.3,no,maybe", "0.4,no,no"]
    (tmp_path / "a.csv").write_text("\n".join(rows) + "\n")
    federation = prepare(config(data={"test_fraction": 0.0})).federation
    assert sorted(federation.silos[0].train.labels.tolist()) == [0, 1]
    assert "labels 'diabetes', 'stroke': 2 of 4 records" in federation.warnings[0]
    assert federation.warnings[1] == "a.csv, column 'stroke': no record is of class yes."


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": {"label": ["diabetes"]}}, "a list of 2 to 8 different ones"),
        ({"data": {"label": ["diabetes", "diabetes"]}}, "a list of 2 to 8 different ones"),
        ({"data": {"label": list("abcdefghi")}}, "a list of 2 to 8 different ones"),
        ({"data": {"classes": ["no", "yes", "maybe"]}}, "classes must be two texts"),
        ({"data": {"num_classes": 4}}, "num_classes must be left out"),
        ({"data": {"label": ["diabetes", "age"]}}, "'age' must not be a feature as well"),
        ({"model": {"name": "ordinal"}}, "Use the model 'logistic'"),
        (
            {"model": {"name": "ordinal"}, "data": {"label": ["diabetes", "stroke", "fall"]}},
            "must be of a linear model",
        ),
        ({"model": {"name": f"{__name__}:one_output"}}, "must return a logit for each"),
        ({"training": {"local": {"kind": "stable-steps", "class_weights": [1, 2]}}}, "must be left out"),
        (
            {
                "training": {
                    "rounds": 2,
                    "local": {"kind": "tangent-steps", "learning_rate": 0.1, "steps": 4},
                },
                "privacy": {"clip_norm": 1.0},
            },
            "'training.local.kind' must not be tangent-steps",
        ),
        ({"evaluate": {"every": 5, "epsilon": 1.0}}, "'evaluate' must not be given"),
    ],
)  # fmt: skip
def test_what_is_not_proven_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        prepare(config(**changes))
