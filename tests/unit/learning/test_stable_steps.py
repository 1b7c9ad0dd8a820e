from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from torch import nn

from discreet.data.records import Records
from discreet.errors import ConfigurationError, PrivacyViolation, UnsupportedAnalysisError
from discreet.kinds import BinaryLogistic, Softmax, StableSteps
from discreet.kinds.batch_guard import batch_guard
from discreet.learning import local_update
from discreet.models import LinearHead
from discreet.privacy.events import NoSampling, PoissonSampling
from discreet.randomness import SeededRandom

R = 1.5


def kind(**changes: Any) -> StableSteps:
    settings: dict[str, object] = {
        "loss": Softmax(3),
        "norm_bound": R,
        "learning_rate": 0.05,
        "steps": 4,
        "record_capacity": 40,
    }
    return StableSteps(**(settings | changes))  # type: ignore[arg-type]


def records(count: int, seed: int = 0, norm: float = R) -> Records:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(count, 5))
    features *= norm / np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-9)
    return Records((features * (1 - 1e-7)).astype(np.float32), rng.integers(0, 3, count))


def test_sensitivity_is_passes_times_rate_times_lipschitz() -> None:
    assert kind().l2_sensitivity() == pytest.approx(0.05 * math.sqrt(2) * R, rel=1e-3)
    assert kind(passes=3).l2_sensitivity() == pytest.approx(3 * 0.05 * math.sqrt(2) * R, rel=1e-3)
    assert kind().l2_sensitivity() >= 0.05 * math.sqrt(2) * R
    assert kind(steps=17).l2_sensitivity() == kind().l2_sensitivity()


@pytest.mark.parametrize("rate", [1e-310, 1e-316, 1e-320, 5e-324])
def test_no_rounding_is_small_where_steps_underflow(rate: float) -> None:
    """What is lost below 2^-1022 is no part of what is kept: the errors fell to zero, their share too."""
    assert kind(learning_rate=1e-290).rounding_share(5) < 1e-6
    assert kind(learning_rate=rate).rounding_share(5) == math.inf


def test_the_guard_of_the_published_setting() -> None:
    """theory §2.4: capacity 5,600: 88 steps guard at 134 records, 176 steps at 85."""
    assert batch_guard(5600, 1 / 88, 88).max_batch == 134
    assert batch_guard(5600, 1 / 176, 176).max_batch == 85


@pytest.mark.parametrize(
    ("capacity", "entry", "batches"),
    [(5600, 1 / 88, 88), (300, 0.02, 10), (50, 0.5, 3), (100_000, 1 / 20_000, 20_000)],
)
def test_the_guard_is_the_smallest_that_holds(capacity: int, entry: float, batches: int) -> None:
    guard = batch_guard(capacity, entry, batches)

    # an independent tail: the sum of the probabilities themselves
    def tail(from_size: int) -> float:
        return batches * math.fsum(binom.pmf(np.arange(from_size, capacity + 1), capacity, entry))

    if guard.max_batch < capacity:
        assert guard.failure_prob == pytest.approx(tail(guard.max_batch), rel=1e-6)
    assert tail(guard.max_batch) <= 1e-12 or guard.max_batch == capacity
    assert tail(guard.max_batch - 1) > 1e-12


def test_a_guard_that_is_the_whole_silo_cannot_fail() -> None:
    assert batch_guard(10, 1.0, 1) == batch_guard(10, 0.9, 1)
    assert batch_guard(10, 1.0, 1).failure_prob == 0.0
    assert batch_guard(10, 1.0, 1).max_batch == 10


def test_a_rate_too_large_for_the_guard_is_refused_with_the_largest_allowed() -> None:
    beta = R**2 / 2
    limit = 2.0 / (beta * kind(learning_rate=1e-6).guard().max_batch)
    kind(learning_rate=limit * 0.999)
    with pytest.raises(ConfigurationError, match=f"at most {limit:.4g}") as refused:
        kind(learning_rate=limit * 1.001)
    assert "The limit shrinks as record_capacity" in str(refused.value)


def test_the_regulariser_counts_in_the_condition() -> None:
    with pytest.raises(ConfigurationError, match="non-expansive"):
        kind(l2_regulariser=100.0)


@pytest.mark.parametrize(
    "changes",
    [
        {"learning_rate": 0.0},
        {"learning_rate": math.nan},
        {"steps": 0},
        {"passes": 0},
        {"record_capacity": 0},
        {"norm_bound": math.nan},
        {"l2_regulariser": -1.0},
        {"sampling_prob": 0.0},
        {"projection_radius": math.nan},
    ],
)
def test_numbers_out_of_range_are_refused(changes: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError):
        kind(**changes)


def test_one_step_is_the_gradient_sum_by_hand() -> None:
    data = records(12)
    start = np.random.default_rng(1).normal(size=15)
    got = local_update(kind(steps=1, learning_rate=0.02), LinearHead(5, 3), start, data, SeededRandom(0))
    features = data.features.astype(np.float64)
    logits = features @ start.reshape(3, 5).T
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    gradient = (probs - np.eye(3)[data.labels]).T @ features
    np.testing.assert_allclose(got.vector, -0.02 * gradient.ravel(), rtol=1e-10, atol=1e-14)
    assert got.batch == 12
    assert got.loss == pytest.approx(-np.log(probs[np.arange(12), data.labels]).mean())


def test_several_steps_follow_the_written_recursion() -> None:
    """The same draws, the recursion of theory §2.4 with its regulariser written out step by step."""
    data, start = records(30), np.random.default_rng(2).normal(size=15)
    settings = kind(steps=5, l2_regulariser=0.3, sampling_prob=0.7)
    got = local_update(settings, LinearHead(5, 3), start, data, SeededRandom(9))
    source = SeededRandom(9)
    entered = np.flatnonzero(source.bernoulli(30, 0.7))
    assigned = source.integers_below(len(entered), 5)
    weights = start.reshape(3, 5).copy()
    for step in range(5):
        gradient = np.zeros((3, 5))
        for row in entered[assigned == step]:
            one = data.features[row].astype(np.float64)
            logits = weights @ one
            probs = np.exp(logits) / np.exp(logits).sum()
            gradient += np.outer(probs - np.eye(3)[data.labels[row]], one)
        weights -= 0.05 * (gradient + 0.3 * weights)
    np.testing.assert_allclose(got.vector, weights.ravel() - start, rtol=1e-10, atol=1e-13)
    assert got.batch == len(entered)


def test_no_records_and_empty_draws_are_legal() -> None:
    for data in (records(0), records(5)):
        got = local_update(kind(sampling_prob=1e-12), LinearHead(5, 3), np.ones(15), data, SeededRandom(0))
        assert not got.vector.any()
        assert (got.loss, got.batch) == (0.0, 0)


def test_a_network_is_refused_with_the_nearest_kinds() -> None:
    with pytest.raises(UnsupportedAnalysisError, match=r"tangent-steps or sharded.*single-step"):
        local_update(kind(), nn.Sequential(nn.Linear(5, 3)), np.zeros(18), records(3), SeededRandom(0))


def test_another_head_than_planned_is_refused() -> None:
    with pytest.raises(UnsupportedAnalysisError):
        local_update(kind(loss=BinaryLogistic()), LinearHead(5, 3), np.zeros(15), records(3), SeededRandom(0))


def test_features_outside_the_ball_are_scaled_down_to_it() -> None:
    """One record must not decide whether a silo answers."""
    near, far = records(3, norm=R), records(3, norm=1e30)
    expected, got = (
        local_update(kind(), LinearHead(5, 3), np.zeros(15), data, SeededRandom(0)).vector
        for data in (near, far)
    )
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_a_label_of_no_class_contributes_zero() -> None:
    data = records(3)
    wrong = Records(data.features, np.array([3, *data.labels[1:]]))
    got = local_update(
        kind(steps=1, learning_rate=0.04), LinearHead(5, 3), np.zeros(15), wrong, SeededRandom(0)
    )
    others = data.take(np.array([1, 2]))
    rest = local_update(
        kind(steps=1, learning_rate=0.04), LinearHead(5, 3), np.zeros(15), others, SeededRandom(0)
    )
    np.testing.assert_array_equal(got.vector, rest.vector)


def test_more_records_than_the_capacity_are_refused() -> None:
    with pytest.raises(PrivacyViolation, match="record_capacity 40"):
        local_update(kind(), LinearHead(5, 3), np.zeros(15), records(41), SeededRandom(0))


def test_a_batch_over_the_guard_stops_the_round() -> None:
    """All coins equal: every record is given step 0, which no honest source does."""

    class Constant:
        def bernoulli(self, count: int, _: float) -> np.ndarray:
            return np.ones(count, dtype=bool)

        def integers_below(self, count: int, _: int) -> np.ndarray:
            return np.zeros(count, dtype=np.int64)

    settings = kind(record_capacity=1000, steps=50, learning_rate=0.01)
    assert settings.guard().max_batch < 200
    with pytest.raises(PrivacyViolation, match="exceeded its guard"):
        local_update(settings, LinearHead(5, 3), np.zeros(15), records(200), Constant())  # type: ignore[arg-type]


def test_weights_too_large_for_float64_are_refused() -> None:
    with pytest.raises(PrivacyViolation, match="float64 rounding"):
        local_update(kind(), LinearHead(5, 3), np.full(15, 1e12), records(5), SeededRandom(0))


def test_the_projection_bounds_the_update() -> None:
    settings = kind(projection_radius=0.01)
    got = local_update(settings, LinearHead(5, 3), np.zeros(15), records(30), SeededRandom(0))
    assert np.linalg.norm(got.vector) == pytest.approx(0.01)
    assert settings.update_bound(30) < 0.0101
    assert kind().update_bound(30) == pytest.approx(30 * kind().l2_sensitivity())


def test_the_event_is_the_sampling_of_records() -> None:
    assert kind().release_sampling() == NoSampling()
    assert kind(sampling_prob=0.1).release_sampling() == PoissonSampling(0.1)
    assert kind(steps=20, record_capacity=4000, learning_rate=0.005).failure_prob(4000) <= 1e-12


def test_nothing_private_is_printed() -> None:
    got = local_update(kind(), LinearHead(5, 3), np.zeros(15), records(3), SeededRandom(0))
    assert repr(got) == "LocalUpdate(<private>)"
