from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import nn

from discreet.data.records import Records
from discreet.errors import ConfigurationError
from discreet.kinds import ClippedUpdate, SingleStep
from discreet.kinds.float_error import MAX_BATCH, project, require_summable
from discreet.learning import counted_update, local_update
from discreet.models import LinearHead, flatten, load_flat
from discreet.privacy.events import NoSampling, PoissonSampling
from discreet.randomness import SeededRandom
from discreet.sampling import FixedSize, Poisson


def records(count: int = 20) -> Records:
    rng = np.random.default_rng(0)
    return Records(rng.normal(size=(count, 4)).astype(np.float32), rng.integers(0, 3, count))


def test_local_sgd_equals_torch_sgd_on_the_same_batches() -> None:
    torch.manual_seed(0)
    model, data = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).double(), records()
    model.register_forward_pre_hook(lambda _, inputs: (inputs[0].double(),))
    start = flatten(model)
    kind = ClippedUpdate(1e9, 0.1, 6, epochs=2, momentum=0.4, weight_decay=0.01)
    got = local_update(kind, model, start, data, SeededRandom(5))
    source = SeededRandom(5)
    source.bernoulli(1, 1.0)
    load_flat(model, start)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.4, weight_decay=0.01)
    for _ in range(2):
        order = source.permutation(20)
        for first in range(0, 20, 6):
            rows = order[first : first + 6]
            optimiser.zero_grad()
            outputs = model(torch.from_numpy(data.features[rows]))
            nn.functional.cross_entropy(outputs, torch.from_numpy(data.labels[rows])).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    np.testing.assert_allclose(got.vector, flatten(model) - start, rtol=1e-9, atol=1e-12)


def test_the_closed_form_of_linear_heads_equals_autograd() -> None:
    data, start = records(), np.random.default_rng(1).normal(size=12)
    kind = ClippedUpdate(1e9, 0.1, 6, epochs=2)
    head = local_update(kind, LinearHead(4, 3), start, data, SeededRandom(5))
    layers = nn.Sequential(nn.Identity(), nn.Linear(4, 3, bias=False)).double()
    layers.register_forward_pre_hook(lambda _, inputs: (inputs[0].double(),))
    network = local_update(kind, layers, start, data, SeededRandom(5))
    np.testing.assert_allclose(head.vector, network.vector, rtol=1e-10, atol=1e-13)


def test_updates_are_clipped_and_small_ones_left_alone() -> None:
    data, start = records(), np.zeros(12)
    free = local_update(ClippedUpdate(1e9, 0.1, 5), LinearHead(4, 3), start, data, SeededRandom(1)).vector
    clipped = local_update(ClippedUpdate(0.01, 0.1, 5), LinearHead(4, 3), start, data, SeededRandom(1)).vector
    np.testing.assert_allclose(clipped, free * 0.01 / np.linalg.norm(free), rtol=1e-12)


def test_in_ball_clipping_acts_after_every_step() -> None:
    data, start = records(), np.zeros(12)
    inside = ClippedUpdate(0.05, 0.5, 5, epochs=4, project_steps=True)
    outside = ClippedUpdate(0.05, 0.5, 5, epochs=4)
    vectors = [
        local_update(k, LinearHead(4, 3), start, data, SeededRandom(1)).vector for k in (inside, outside)
    ]
    assert all(np.linalg.norm(vector) <= 0.05 * (1 + 1e-12) for vector in vectors)
    assert not np.allclose(vectors[0], vectors[1], rtol=1e-3)


def test_the_client_tosses_its_own_coin() -> None:
    """P[80 coins of probability 1/2 outside 20..60] < 1e-5."""
    kind = ClippedUpdate(0.1, 0.1, 5, sampling_prob=0.5)
    batches = [
        local_update(kind, LinearHead(4, 3), np.zeros(12), records(), SeededRandom(s)).batch
        for s in range(80)
    ]
    assert 20 <= sum(batches) <= 60
    assert kind.release_sampling() == PoissonSampling(0.5)
    assert ClippedUpdate(0.1, 0.1, 5).release_sampling() == NoSampling()


def test_a_client_without_records_contributes_zero() -> None:
    got = local_update(
        ClippedUpdate(0.1, 0.1, 5), LinearHead(4, 3), np.zeros(12), records(0), SeededRandom(0)
    )
    assert (bool(got.vector.any()), got.batch) == (False, 0)


@pytest.mark.parametrize(
    "model", [LinearHead(4, 3), nn.Linear(4, 3), nn.Sequential(nn.Linear(4, 3), nn.GELU())]
)
def test_a_diverging_update_is_zero(model: nn.Module) -> None:
    kind = ClippedUpdate(0.1, 1e200, 5, epochs=4, weight_decay=1.0)
    got = counted_update(kind, model, np.zeros(len(flatten(model))), records(), SeededRandom(0))
    assert (bool(got.update.vector.any()), got.within, got.update.batch) == (False, 0, 1)
    assert got.update.loss is not None
    assert np.isfinite(got.update.loss)


@pytest.mark.parametrize(
    "changes",
    [
        {"clip_norm": 0.0},
        {"clip_norm": float("nan")},
        {"learning_rate": -1.0},
        {"batch_size": 0},
        {"epochs": 0},
        {"momentum": 1.0},
        {"weight_decay": -0.1},
        {"sampling_prob": 0.0},
    ],
)
def test_numbers_out_of_range_are_refused(changes: dict[str, float]) -> None:
    settings: dict[str, float] = {"clip_norm": 1.0, "learning_rate": 0.1, "batch_size": 5}
    with pytest.raises(ConfigurationError):
        ClippedUpdate(**(settings | changes))  # type: ignore[arg-type]


def test_single_step_refuses_bad_numbers() -> None:
    for changes in ({"clip_norm": 0.0}, {"projection_radius": 0.0}):
        with pytest.raises(ConfigurationError):
            SingleStep(**cast(Any, {"clip_norm": 1.0} | changes))


def test_single_step_points_downhill() -> None:
    data, start = records(), np.zeros(12)
    got = local_update(SingleStep(1e9), LinearHead(4, 3), start, data, SeededRandom(0))
    residuals = np.full((20, 3), 1 / 3) - np.eye(3)[data.labels]
    expected = -(residuals.T @ data.features.astype(np.float64)).ravel()
    np.testing.assert_allclose(got.vector, expected, rtol=1e-9)
    assert got.loss == pytest.approx(np.log(3.0))
    assert got.batch == 20


def test_gradients_that_are_no_numbers_contribute_zero() -> None:
    class Divides(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 3)

        def forward(self, features: torch.Tensor) -> torch.Tensor:
            return self.linear(features) / 0.0

    model = Divides()
    got = counted_update(SingleStep(1.0), model, flatten(model), records(), SeededRandom(0))
    assert (bool(got.update.vector.any()), got.within, got.update.loss, got.update.batch) == (
        False,
        0,
        0.0,
        20,
    )


def test_a_batch_too_long_for_its_float_error_is_refused() -> None:
    require_summable(MAX_BATCH)
    with pytest.raises(ConfigurationError, match="at most"):
        require_summable(MAX_BATCH + 1)
    with pytest.raises(ConfigurationError, match="at most"):
        SingleStep(1.0, Poisson(0.01)).update_bound(MAX_BATCH + 1)
    SingleStep(1.0, FixedSize(10, MAX_BATCH + 1)).update_bound(MAX_BATCH + 1)


def test_projection_keeps_what_is_inside() -> None:
    inside = np.array([0.3, 0.4])
    assert project(inside, 0.5) is inside
