from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call, jacrev

from discreet.data.records import Records
from discreet.errors import ConfigurationError, PrivacyViolation
from discreet.kinds import BinaryLogistic, Softmax, StableSteps, TangentSteps
from discreet.kinds.float_error import FLOAT_SLACK
from discreet.learning import local_update
from discreet.models import LinearHead, build_model, flatten, load_flat
from discreet.privacy.events import NoSampling, PoissonSampling
from discreet.randomness import SeededRandom

C = 1.5


def kind(**changes: Any) -> TangentSteps:
    settings: dict[str, object] = {
        "loss": Softmax(3),
        "norm_bound": C,
        "learning_rate": 0.04,
        "steps": 4,
        "record_capacity": 40,
    }
    return TangentSteps(**(settings | changes))  # type: ignore[arg-type]


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3))


def convolution() -> nn.Sequential:
    """Its rows do not come in the order of its weights."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Unflatten(1, (2, 3, 3)), nn.Conv2d(2, 3, 2), nn.Tanh(), nn.Flatten(), nn.Linear(12, 3)
    )


def records(count: int, seed: int = 0, scale: float = 1.0, width: int = 5) -> Records:
    rng = np.random.default_rng(seed)
    features = scale * rng.normal(size=(count, width))
    return Records(features.astype(np.float32), rng.integers(0, 3, count))


def rows_of(model: nn.Module, start: np.ndarray, one: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Logits and Jacobian of one record in float64, by torch's own differentiation."""
    load_flat(model, start)
    params = {name: param.detach().double() for name, param in model.named_parameters()}
    features = torch.from_numpy(one).double()[None]
    rows = jacrev(lambda values: functional_call(model, values, (features,))[0])(params)
    logits = functional_call(model, params, (features,))[0]
    return logits.numpy(), torch.cat([part.flatten(1) for part in rows.values()], dim=1).numpy()


def test_sensitivity_is_passes_times_rate_times_lipschitz() -> None:
    assert kind().l2_sensitivity() == pytest.approx(0.04 * math.sqrt(2) * C, rel=1e-3)
    assert kind().l2_sensitivity() >= 0.04 * math.sqrt(2) * C
    assert kind(passes=3).l2_sensitivity() == pytest.approx(3 * 0.04 * math.sqrt(2) * C, rel=1e-3)
    assert kind(steps=17).l2_sensitivity() == kind().l2_sensitivity()
    assert kind(loss=BinaryLogistic()).l2_sensitivity() == pytest.approx(0.04 * C, rel=1e-3)


def test_a_rate_too_large_for_the_guard_is_refused_with_the_largest_allowed() -> None:
    limit = 2.0 / (C**2 / 2 * kind(learning_rate=1e-6).guard().max_batch)
    kind(learning_rate=limit * 0.999)
    with pytest.raises(ConfigurationError, match=f"at most {limit:.4g}"):
        kind(learning_rate=limit * 1.001)


@pytest.mark.parametrize(
    "changes",
    [
        {"learning_rate": 0.0},
        {"learning_rate": math.nan},
        {"norm_bound": 0.0},
        {"norm_bound": math.inf},
        {"steps": 0},
        {"passes": 0},
        {"record_capacity": 0},
        {"sampling_prob": 0.0},
        {"projection_radius": math.nan},
    ],
)
def test_numbers_out_of_range_are_refused(changes: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError):
        kind(**changes)


@pytest.mark.parametrize(("make", "width", "scale"), [(network, 5, 0.5), (convolution, 18, 0.1)])
def test_several_steps_follow_the_written_recursion(
    make: Callable[[], nn.Module], width: int, scale: float
) -> None:
    """The same draws; logits, Jacobians, spreads and steps of theory §2.7 written out record by record."""
    model, data = make(), records(30, scale=scale, width=width)
    start = flatten(model).astype(np.float32).astype(np.float64)
    got = local_update(kind(sampling_prob=0.7), model, start, data, SeededRandom(9))
    source = SeededRandom(9)
    entered = np.flatnonzero(source.bernoulli(30, 0.7))
    source.words(1)  # torch's seed
    assigned = source.integers_below(len(entered), 4)
    delta, shortened = np.zeros(len(start)), 0
    for step in range(4):
        gradient = np.zeros(len(start))
        for row in entered[assigned == step]:
            logits, jacobian = rows_of(model, start, data.features[row])
            distances = np.linalg.norm(jacobian[:, None] - jacobian[None, :], axis=2)
            factor = min(1.0, C / (distances.max() / math.sqrt(2.0)))
            shortened += factor < 1.0
            moved = logits + factor * jacobian @ delta
            residual = np.exp(moved) / np.exp(moved).sum()
            residual[data.labels[row]] -= 1.0
            gradient += factor * residual @ jacobian
        delta -= 0.04 * gradient
    assert 3 <= shortened <= len(entered) - 3  # both sides of the minimum occur
    np.testing.assert_allclose(got.vector, delta, rtol=2e-3, atol=1e-5)
    assert got.batch == len(entered)


def test_on_a_linear_head_it_is_stable_steps() -> None:
    """A record's spread is then the norm of its features; within C nothing is scaled down."""
    features = records(30).features
    features *= np.float32(0.999 * C) / np.maximum(np.linalg.norm(features, axis=1, keepdims=True), C)
    data, start = Records(features, records(30).labels), np.random.default_rng(1).normal(size=15)
    start = start.astype(np.float32).astype(np.float64)
    stable = StableSteps(Softmax(3), C, 0.04, 4, 40)

    class NoSeed(SeededRandom):  # type: ignore[misc]  # a test's own draws
        """Tangent-steps draw one word more, for torch."""

        def words(self, count: int) -> np.ndarray:
            return np.zeros(1, np.uint64) if count == 1 else super().words(count)

    tangent = local_update(kind(), LinearHead(5, 3), start, data, NoSeed(3))
    straight = local_update(stable, LinearHead(5, 3), start, data, SeededRandom(3))
    np.testing.assert_allclose(tangent.vector, straight.vector, rtol=1e-5, atol=1e-7)
    assert kind().l2_sensitivity() == stable.l2_sensitivity()
    assert tangent.loss == pytest.approx(straight.loss, rel=1e-5)


def test_chunks_do_not_change_the_update(monkeypatch: pytest.MonkeyPatch) -> None:
    model, data = network(), records(40)
    start = flatten(model)
    whole = local_update(kind(steps=1, learning_rate=0.02), model, start, data, SeededRandom(0)).vector
    monkeypatch.setattr("discreet.learning.tangent_steps._LONGEST_CHUNK", 7)
    cut = local_update(kind(steps=1, learning_rate=0.02), model, start, data, SeededRandom(0)).vector
    np.testing.assert_allclose(cut, whole, rtol=1e-4, atol=1e-6)


def test_the_public_weights_stay_as_they_were() -> None:
    model, start = network(), flatten(network())
    local_update(kind(), model, start, records(20), SeededRandom(0))
    np.testing.assert_array_equal(flatten(model), start)


def test_no_records_and_empty_draws_are_legal() -> None:
    model = network()
    for data in (records(0), records(5)):
        got = local_update(kind(sampling_prob=1e-12), model, flatten(model), data, SeededRandom(0))
        assert not got.vector.any()
        assert (got.loss, got.batch) == (0.0, 0)


def test_another_number_of_outputs_than_planned_is_refused() -> None:
    model = network()
    with pytest.raises(ConfigurationError, match="the 4 outputs of the planned loss; got 3"):
        local_update(kind(loss=Softmax(4)), model, flatten(model), records(3), SeededRandom(0))


def test_more_records_than_the_capacity_are_refused() -> None:
    model = network()
    with pytest.raises(PrivacyViolation, match="record_capacity 40"):
        local_update(kind(), model, flatten(model), records(41), SeededRandom(0))


def test_a_batch_over_the_guard_stops_the_round() -> None:
    class Constant(SeededRandom):  # type: ignore[misc]  # a test's own draws
        def integers_below(self, count: int, _: int) -> np.ndarray:
            return np.zeros(count, dtype=np.int64)

    settings, model = kind(record_capacity=1000, steps=50, learning_rate=0.005), network()
    assert settings.guard().max_batch < 200
    with pytest.raises(PrivacyViolation, match="exceeded its guard"):
        local_update(settings, model, flatten(model), records(200), Constant(0))


def test_rounding_that_could_exceed_the_slack_is_refused() -> None:
    """So many records that float64 sums over all of them could move the update by a share of one."""
    settings = kind(record_capacity=2_000_000, steps=20_000, learning_rate=0.005)
    model = network()
    with pytest.raises(PrivacyViolation, match="float64 rounding"):
        local_update(settings, model, flatten(model), records(3), SeededRandom(0))


def test_a_record_with_long_rows_has_a_bounded_share() -> None:
    """Two logits that move together have no spread, however fast they move; float alone limits them."""
    model = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 2, bias=False))
    start = np.array([1.0, 1e6, 1e6])
    data = Records(np.array([[1e3]], np.float32), np.array([0]))
    got = local_update(kind(loss=Softmax(2), steps=1), model, start, data, SeededRandom(0))
    assert np.linalg.norm(got.vector) <= kind().l2_sensitivity()


def test_the_planned_setting_of_the_benchmark_is_within_the_rounding_slack() -> None:
    model = build_model("cnn-tanh", (28, 28), 10, seed=0)
    settings = TangentSteps(Softmax(10), 12.0, 1.8e-4, 88, 5600)
    one = Records(np.random.default_rng(0).random((1, 28, 28), dtype=np.float32), np.array([3]))
    got = local_update(settings, model, flatten(model), one, SeededRandom(0))
    assert 0.0 < np.linalg.norm(got.vector) <= settings.l2_sensitivity() * (1.0 - FLOAT_SLACK / 2.0)


def test_the_projection_bounds_the_update() -> None:
    model, settings = network(), kind(projection_radius=0.01)
    got = local_update(settings, model, flatten(model), records(30), SeededRandom(0))
    assert np.linalg.norm(got.vector) == pytest.approx(0.01)
    assert settings.update_bound(30) < 0.0101
    assert kind().update_bound(30) == pytest.approx(30 * kind().l2_sensitivity())


def test_the_event_is_the_sampling_of_records() -> None:
    assert kind().release_sampling() == NoSampling()
    assert kind(sampling_prob=0.1).release_sampling() == PoissonSampling(0.1)
    assert kind(steps=20, record_capacity=4000, learning_rate=0.005).failure_prob(4000) <= 1e-12
