from __future__ import annotations

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from discreet.kinds import AveragingConfig, MomentumConfig, ServerRule


def averaging(rate: float, decay: float = 1.0) -> AveragingConfig:
    return AveragingConfig(learning_rate=rate, decay=decay)


def heavy_ball(rate: float, momentum: float) -> MomentumConfig:
    return MomentumConfig(kind="momentum", learning_rate=rate, momentum=momentum)


def run(rule: ServerRule, means: list[np.ndarray]) -> np.ndarray:
    parameters = np.zeros(len(means[0]))
    state = rule.init(len(parameters))
    for mean in means:
        state, parameters = rule.step(state, parameters, mean, rounds=6)
    return parameters


def test_momentum_equals_torch_sgd_on_the_negated_mean() -> None:
    rng = np.random.default_rng(0)
    means = [rng.normal(size=4) for _ in range(6)]
    weights = torch.zeros(4, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.SGD([weights], lr=0.3, momentum=0.8)
    for mean in means:
        weights.grad = torch.from_numpy(-mean)
        optimiser.step()
    np.testing.assert_allclose(run(heavy_ball(0.3, 0.8), means), weights.detach().numpy(), rtol=1e-12)


def test_without_momentum_it_is_averaging() -> None:
    means = [np.array([1.0, 2.0]), np.array([-3.0, 0.5])]
    assert np.array_equal(run(heavy_ball(0.7, 0.0), means), run(averaging(0.7), means))
    np.testing.assert_allclose(run(averaging(0.7), means), [-1.4, 1.75])


def test_decay_scales_each_round() -> None:
    means = [np.ones(1)] * 3
    assert run(averaging(1.0, 0.5), means)[0] == 1.75


def test_arguments_are_left_unchanged() -> None:
    rule = heavy_ball(1.0, 0.5)
    state, parameters, mean = rule.init(2), np.ones(2), np.ones(2)
    rule.step(state, parameters, mean, rounds=6)
    assert state.velocity.tolist() == [0.0, 0.0]
    assert parameters.tolist() == mean.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_learning_rates_that_are_none_are_refused(rate: float) -> None:
    with pytest.raises(ValidationError):
        averaging(rate)
    with pytest.raises(ValidationError):
        heavy_ball(rate, 0.5)


@pytest.mark.parametrize("momentum", [-0.1, 1.0, float("nan")])
def test_momentum_outside_its_range_is_refused(momentum: float) -> None:
    with pytest.raises(ValidationError):
        heavy_ball(1.0, momentum)
