"""A step for each record, in random order: by hand, and moved by the claim at most, at the largest rate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.audit.following import FollowingCoins
from discreet.data.records import Records
from discreet.errors import ConfigurationError, PrivacyViolation
from discreet.kinds import BinaryLogistic, Capped, Softmax, StableSteps, TangentSteps
from discreet.kinds.batch_guard import random_order
from discreet.kinds.persons import PersonWeights
from discreet.learning import local_update
from discreet.models import LinearHead
from discreet.randomness import SeededRandom


def kind(loss: Any = None, rate: float = 3.9, **changes: Any) -> StableSteps:
    """Softmax on features of norm 1 is 1/2-smooth: steps up to 4 are non-expansive."""
    return StableSteps(
        loss=loss or Softmax(3),
        norm_bound=1.0,
        learning_rate=rate,
        steps=None,
        record_capacity=700,
        **changes,
    )


def records(count: int, seed: int = 0, persons: int | None = None) -> Records:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(count, 4))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    owners = None if persons is None else np.sort(rng.integers(0, persons, count))
    return Records(features.astype(np.float32), rng.integers(0, 3, count), owners)


@pytest.mark.parametrize("count", [0, 1, 5, 600])
def test_each_record_takes_one_step_in_the_order_of_its_key(count: int) -> None:
    data, start = records(count), np.linspace(-1.0, 1.0, 12)
    found = local_update(kind(rate=0.3), LinearHead(4, 3), start, data, SeededRandom(7))
    order = random_order(np.arange(count), SeededRandom(7))
    weights = start.reshape(3, 4).copy()
    for place in order:
        x = data.features[place].astype(np.float64)
        p = np.exp(weights @ x)
        p /= p.sum()
        p[data.labels[place]] -= 1.0
        weights -= 0.3 * np.outer(p, x)
    np.testing.assert_allclose(found.vector, weights.ravel() - start, rtol=1e-9, atol=1e-12)
    assert found.batch == count


def test_the_order_is_of_everybody_and_random() -> None:
    entered = np.array([3, 8, 9, 20])
    orders = {tuple(random_order(entered, SeededRandom(seed)).tolist()) for seed in range(300)}
    assert len(orders) == 24
    assert all(sorted(order) == entered.tolist() for order in orders)


@pytest.mark.parametrize("loss", [Softmax(3), Capped(Softmax(3), 0.35), BinaryLogistic()])
@pytest.mark.parametrize("persons", [None, PersonWeights(300)])
def test_one_unit_moves_no_more_than_the_claim_at_the_largest_rate(
    loss: Any, persons: PersonWeights | None
) -> None:
    outputs = loss.outputs
    found = kind(loss, 7.99 if outputs == 1 else 3.99, persons=persons)
    worst = 0.0
    for trial in range(80):
        rng = np.random.default_rng(trial)
        data = records(40, trial, persons=None if persons is None else 15)
        labels = data.labels % max(2, outputs)
        data = Records(data.features, labels, data.persons)
        units = np.arange(40) if data.persons is None else np.unique(data.persons, return_inverse=True)[1]
        gone = int(rng.integers(0, units.max() + 1))
        places = np.arange(units.max() + 1)
        start = (0.0, 1.0, 60.0)[trial % 3] * rng.normal(size=4 * outputs)
        sides = [
            local_update(found, LinearHead(4, outputs), start, part, FollowingCoins(trial, own)).vector
            for part, own in ((data, places), (data.take(units != gone), np.delete(places, gone)))
        ]
        worst = max(worst, float(np.linalg.norm(sides[0] - sides[1])))
    assert worst <= found.l2_sensitivity()
    assert worst >= 0.95 * found.l2_sensitivity() or persons is not None


def test_a_rate_beyond_the_limit_is_refused_and_would_move_more(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="learning_rate of at most 4"):
        kind(rate=4.01)
    monkeypatch.setattr(StableSteps, "_require_non_expansive", lambda _: None)
    found = kind(rate=40.0)
    data = records(300, 3)
    places = np.arange(300)
    apart = []
    for gone in range(0, 300, 20):
        kept = np.delete(places, gone)
        sides = [
            local_update(found, LinearHead(4, 3), np.zeros(12), part, FollowingCoins(1, own)).vector
            for part, own in ((data, places), (data.take(kept), kept))
        ]
        apart.append(float(np.linalg.norm(sides[0] - sides[1])))
    assert max(apart) > 1.05 * found.l2_sensitivity()


def test_nothing_can_fail_and_no_batch_is_guarded() -> None:
    assert kind().failure_prob(700) == 0.0
    assert kind().guard().max_batch == 1
    assert kind().step_bound == 700


def test_a_regulariser_is_refused_since_its_steps_are_not_bounded() -> None:
    with pytest.raises(ConfigurationError, match="must be 0 where every record takes a step of its own"):
        kind(rate=0.1, l2_regulariser=0.01)


def test_only_stable_steps_take_one_each() -> None:
    with pytest.raises(ConfigurationError, match="'steps' of tangent-steps must be >= 1"):
        TangentSteps(Softmax(3), 1.0, 0.1, steps=None, record_capacity=10)


def test_rounding_counts_a_step_for_each_record_that_there_may_be() -> None:
    """Weights at which one step would round little enough, and 700 of them too much."""
    one_step = StableSteps(loss=Softmax(3), norm_bound=1.0, learning_rate=1e-3, steps=1, record_capacity=700)
    data = records(5)

    def refused(of: StableSteps, norm: float) -> bool:
        start = np.full(12, norm / np.sqrt(12.0))
        try:
            local_update(of, LinearHead(4, 3), start, data, SeededRandom(1))
        except PrivacyViolation as found:
            return "rounding must stay within" in str(found)
        return False

    norms = [10.0**power for power in range(0, 20)]
    assert not refused(kind(rate=1e-3), norms[0])
    first = {
        name: next(norm for norm in norms if refused(of, norm))
        for name, of in {"one": one_step, "each": kind(rate=1e-3)}.items()
    }
    assert first["each"] <= first["one"] / 100.0
