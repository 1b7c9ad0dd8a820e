"""Levels in an order: the loss by hand, its constants where they are reached, and valid probabilities."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from discreet.arrays import Floats
from discreet.config import parse_config
from discreet.engines.local import prepare
from discreet.errors import ConfigurationError
from discreet.kinds import Capped, Ordinal, Softmax, StableStepsConfig
from discreet.kinds.float_error import MARGIN_TERMS, ordinal_residual_error
from discreet.kinds.weighted import linear_head_of, weighted
from discreet.learning.metrics import class_probabilities
from discreet.models import LinearHead, OrdinalHead, convexity

LEVELS = (3, 4, 7)
CLASSES = ["mild", "moderate", "severe"]


def rows(levels: int, scale: float, seed: int = 0, count: int = 60) -> tuple[Floats, Any]:
    draw = np.random.default_rng(seed)
    return draw.normal(scale=scale, size=(count, levels)), draw.integers(0, levels, count)


@pytest.mark.parametrize("levels", LEVELS)
def test_the_loss_is_the_mean_of_a_logistic_loss_for_each_threshold(levels: int) -> None:
    logits, labels = rows(levels, 2.0)
    losses, _ = Ordinal(levels).losses_and_residuals(logits, labels)
    for row, label, loss in zip(logits, labels, losses, strict=True):
        by_hand = 0.0
        for level in range(1, levels):
            share = 1.0 / (1.0 + math.exp(-(row[0] + row[level] + math.log((levels - level) / level))))
            by_hand -= math.log(share if label >= level else 1.0 - share)
        assert loss == pytest.approx(by_hand / (levels - 1), rel=1e-9)


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("scale", [0.1, 2.0, 20.0])
def test_residuals_are_the_derivative_of_the_losses(levels: int, scale: float) -> None:
    head, step = Ordinal(levels), 1e-6
    logits, labels = rows(levels, scale)
    _, residuals = head.losses_and_residuals(logits, labels)
    for output in range(levels):
        shift = step * np.eye(levels)[output]
        above, below = (head.losses_and_residuals(logits + by, labels)[0] for by in (shift, -shift))
        np.testing.assert_allclose(residuals[:, output], (above - below) / (2 * step), atol=1e-7)


@pytest.mark.parametrize("levels", LEVELS)
@given(scale=st.floats(0.01, 100.0), seed=st.integers(0, 2**32 - 1))
def test_it_is_convex_and_no_gradient_is_longer_or_less_smooth_than_claimed(
    levels: int, scale: float, seed: int
) -> None:
    head = Ordinal(levels)
    (first, labels), (second, _) = rows(levels, scale, seed), rows(levels, scale, seed + 1)
    ends = [head.losses_and_residuals(point, labels) for point in (first, second)]
    middle, _ = head.losses_and_residuals((first + second) / 2, labels)
    assert np.all(middle <= (ends[0][0] + ends[1][0]) / 2 + 1e-12 * (1 + scale))
    assert np.linalg.norm(ends[0][1], axis=1).max() <= head.lipschitz(1.0) * (1 + 1e-12)
    moved = np.linalg.norm(ends[0][1] - ends[1][1], axis=1)
    assert np.all(moved <= head.smoothness(1.0) * np.linalg.norm(first - second, axis=1) + 1e-12)


@pytest.mark.parametrize("levels", LEVELS)
def test_a_record_that_is_wrong_by_all_levels_reaches_the_lipschitz_constant(levels: int) -> None:
    for head in (Ordinal(levels), Capped(Ordinal(levels), 0.3)):
        far = np.zeros((1, levels))
        far[0, 0] = 60.0
        _, residuals = head.losses_and_residuals(far, np.array([0]))
        assert float(np.linalg.norm(residuals)) == pytest.approx(head.lipschitz(1.0), rel=1e-9)


@pytest.mark.parametrize("levels", LEVELS)
def test_the_curvature_is_reached_where_every_threshold_is_at_one_half(levels: int) -> None:
    head, step = Ordinal(levels), 1e-5
    at = np.concatenate([[0.0], -np.array(head.offsets)])
    shifts = step * np.eye(levels)
    labels = np.zeros(levels, dtype=np.int64)
    above, below = (head.losses_and_residuals(at + by, labels)[1] for by in (shifts, -shifts))
    largest = np.linalg.eigvalsh((above - below) / (2 * step)).max()
    assert largest == pytest.approx(head.smoothness(1.0), rel=1e-7)


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("scale", [1.0, 1e3, 1e8])
def test_residuals_are_rounded_by_no_more_than_is_counted(levels: int, scale: float) -> None:
    """Scores and thresholds that nearly cancel are the worst: exact arithmetic is done in 60 digits."""
    head = Ordinal(levels)
    logits, labels = rows(levels, 1.0, count=20)
    logits[:, 0] += scale
    logits[:, 1:] -= scale
    _, found = head.losses_and_residuals(logits, labels)
    with mpmath.workdps(60):
        for row, label, residual in zip(logits, labels, found, strict=True):
            parts = [
                1 / (1 + mpmath.exp(-(mpmath.mpf(row[0]) + row[k] + mpmath.log(mpmath.mpf(levels - k) / k))))
                - int(label >= k)
                for k in range(1, levels)
            ]
            exact = [part / (levels - 1) for part in (sum(parts), *parts)]
            off = [float(mine - other) for mine, other in zip(residual, exact, strict=True)]
            margins = head.smoothness(1.0) * MARGIN_TERMS * 2.0**-53 * float(np.linalg.norm(row))
            assert np.linalg.norm(off) <= margins + ordinal_residual_error(levels)


def head_of(weights: Floats) -> OrdinalHead:
    head = OrdinalHead(weights.shape[1], len(weights))
    with torch.no_grad():
        head.weight.copy_(torch.from_numpy(weights))
    return head


@pytest.mark.parametrize("levels", LEVELS)
def test_at_zero_all_levels_are_as_probable(levels: int) -> None:
    shares = class_probabilities(OrdinalHead(2, levels)(torch.ones(1, 2)))
    np.testing.assert_allclose(shares.detach().numpy(), 1 / levels, rtol=1e-5)


def test_probabilities_are_those_of_the_margins_where_these_are_in_order() -> None:
    weights = np.array([[0.4], [0.5], [-0.2]])
    shares = class_probabilities(head_of(weights)(torch.ones(1, 1))).detach().numpy()[0]
    first = 1 / (1 + math.exp(-(0.9 + math.log(2))))
    second = 1 / (1 + math.exp(-(0.2 - math.log(2))))
    np.testing.assert_allclose(shares, [1 - first, first - second, second], atol=1e-5)


@pytest.mark.parametrize("levels", LEVELS)
def test_probabilities_are_valid_whatever_the_weights_are(levels: int) -> None:
    weights = np.random.default_rng(2).normal(scale=30.0, size=(levels, 3))
    features = torch.randn(200, 3, generator=torch.Generator().manual_seed(1))
    shares = class_probabilities(head_of(weights)(features)).detach().numpy()
    assert np.isfinite(shares).all()
    assert (shares > 0.0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-6)


def test_the_model_that_is_trained_must_be_of_this_head() -> None:
    assert convexity(OrdinalHead(4, 3)) == Ordinal(3)
    assert convexity(LinearHead(4, 3)) == Softmax(3)
    assert linear_head_of(weighted(Capped(Ordinal(3), 0.5), (1, 2, 1))) == Ordinal(3)


def config(**changes: Any) -> Any:
    training = {"local": {"kind": "stable-steps"}}
    stated: dict[str, Any] = {
        "data": {
            "source": {name: f"csv:{name}.csv" for name in "abc"},
            "label": "severity",
            "classes": CLASSES,
            "ranges": {"age": [0, 1]},
            "record_capacity": 50,
        },
        "model": {"name": "ordinal"},
        "training": training,
        "privacy": {"epsilon": 2.0, "delta": 1e-5},
        "aggregation": {"min_survivors": 3},
    }
    return parse_config({key: stated[key] | changes.get(key, {}) for key in stated})


@pytest.fixture
def tables(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in "abc":
        lines = [f"{place / 40},{CLASSES[place % 3]}" for place in range(40)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["age,severity", *lines]) + "\n")


@pytest.mark.usefixtures("tables")
def test_the_plan_accounts_for_this_loss() -> None:
    plan = prepare(config()).plan
    training: Any = plan.silo_training("a")
    assert training.loss == Capped(Ordinal(3), 0.35)
    assert plan.facts.dimension == 3 * 2
    assert isinstance(plan.training.local, StableStepsConfig)
    rate = plan.training.local.learning_rate
    assert training.l2_sensitivity() == pytest.approx(rate * 0.35 * math.sqrt(1.5), rel=2e-3)
    assert plan.model_title == "ordinal regression"
    weights: Any = prepare(config(training={"local": {"kind": "stable-steps", "class_weights": [1, 2, 4]}}))
    assert weights.plan.silo_training("a").loss.loss == Capped(Ordinal(3), 0.35)


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": {"classes": ["no", "yes"]}}, "at least 3 classes"),
        (
            {"training": {"rounds": 2, "local": {"kind": "single-step"}}, "privacy": {"clip_norm": 1.0}},
            "'ordinal' must be with stable-steps",
        ),
        (
            {"model": {"loss": {"function": "math:cos", "residual_norm": 1.0, "curvature": 1.0}}},
            "without a loss of your own",
        ),
    ],
)
def test_what_is_not_proven_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        prepare(config(**changes))
