from __future__ import annotations

import numpy as np
import pytest
import torch

from discreet.errors import ConfigurationError
from discreet.optim import Averaging, ExponentialDecay, InverseTime, Momentum
from discreet.optim.contract import ServerRule


def run(rule: ServerRule, means: list[np.ndarray]) -> np.ndarray:
    parameters = np.zeros(len(means[0]))
    state = rule.init(len(parameters))
    for mean in means:
        state, parameters = rule.step(state, parameters, mean)
    return parameters


def test_momentum_equals_torch_sgd_on_the_negated_mean() -> None:
    rng = np.random.default_rng(0)
    means = [rng.normal(size=4) for _ in range(6)]
    weights = torch.zeros(4, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.SGD([weights], lr=0.3, momentum=0.8)
    for mean in means:
        weights.grad = torch.from_numpy(-mean)
        optimiser.step()
    np.testing.assert_allclose(run(Momentum(0.3, 0.8), means), weights.detach().numpy(), rtol=1e-12)


def test_without_momentum_it_is_averaging() -> None:
    means = [np.array([1.0, 2.0]), np.array([-3.0, 0.5])]
    assert np.array_equal(run(Momentum(0.7, 0.0), means), run(Averaging(0.7), means))
    np.testing.assert_allclose(run(Averaging(0.7), means), [-1.4, 1.75])


def test_schedules_scale_each_round() -> None:
    means = [np.ones(1)] * 3
    assert run(Averaging(1.0, ExponentialDecay(0.5)), means)[0] == 1.75
    assert run(Averaging(1.0, InverseTime(1.0)), means)[0] == pytest.approx(1 + 1 / 2 + 1 / 3)


def test_arguments_are_left_unchanged() -> None:
    rule = Momentum(1.0, 0.5)
    state, parameters, mean = rule.init(2), np.ones(2), np.ones(2)
    rule.step(state, parameters, mean)
    assert state.velocity.tolist() == [0.0, 0.0]
    assert parameters.tolist() == mean.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_learning_rates_that_are_none_are_refused(rate: float) -> None:
    with pytest.raises(ConfigurationError):
        Averaging(rate)
    with pytest.raises(ConfigurationError):
        Momentum(rate, 0.5)


@pytest.mark.parametrize("momentum", [-0.1, 1.0, float("nan")])
def test_momentum_outside_its_range_is_refused(momentum: float) -> None:
    with pytest.raises(ConfigurationError):
        Momentum(1.0, momentum)
