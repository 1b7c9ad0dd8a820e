"""Composition: pessimistic, precise in the far tail, and equal to brute force where that is possible."""

import math

import numpy as np
import pytest

from discreet.accounting.bounds import Pld
from discreet.accounting.compose import compose
from discreet.accounting.discretize import DiscreteLoss, connect_dots, grid
from discreet.accounting.gdp import gaussian_delta
from discreet.accounting.pairs import Mixture, MixturePair, SampledGaussianPair
from discreet.accounting.pld import compose_pairs
from discreet.arrays import Floats


def plain_delta(losses: Floats, probs: Floats, epsilon: float) -> float:
    return float(np.sum(probs * np.maximum(0.0, -np.expm1(epsilon - losses))))


def gaussian_pair(mu: float) -> MixturePair:
    return MixturePair(Mixture((1.0,), (mu,)), Mixture((1.0,), (0.0,)))


def test_matches_direct_convolution() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.random(7), rng.random(5)
    one = DiscreteLoss(0.1, -3, a / a.sum() * 0.999, 0.001)
    two = DiscreteLoss(0.1, -1, b / b.sum(), 0.0)
    composed = compose([(one, 3), (two, 2)], 0.05)
    probs = one.probs
    for other in (one.probs, one.probs, two.probs, two.probs):
        probs = np.convolve(probs, other)
    losses = grid(0.1, 3 * -3 + 2 * -1, len(probs))
    for epsilon in (-0.2, 0.0, 0.33, 0.7):
        expected = plain_delta(losses, probs, epsilon) + 1 - 0.999**3
        assert expected * (1 - 1e-12) <= composed.delta_at(epsilon) <= expected * (1 + 1e-4)


@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12, 1e-40])
def test_relative_precision_far_below_roundoff(delta: float) -> None:
    # 64 Gaussian steps of μ = 0.1 are one of μ = 0.8, exactly.
    curve = compose_pairs([(gaussian_pair(0.1), 64)], delta)
    epsilon = curve.epsilon_at(delta)
    assert gaussian_delta(0.8, epsilon) <= delta
    assert gaussian_delta(0.8, epsilon * (1 - 5e-5)) > delta


@pytest.mark.parametrize("interval", [1e-3, 1e-2, 0.1])
def test_coarser_grids_only_cost(interval: float) -> None:
    exact = compose_pairs([(SampledGaussianPair(1.0, 0.05, 0.0), 50)], 1e-5).epsilon_at(1e-5)
    coarse = compose_pairs([(SampledGaussianPair(1.0, 0.05, 0.0), 50)], 1e-5, Pld(interval=interval))
    assert exact * (1 - 3e-5) <= coarse.epsilon_at(1e-5)


def test_connected_dots_touch_the_curve_on_the_grid_and_lie_above_between() -> None:
    pair = SampledGaussianPair(1.2, 0.3, 0.0)
    discrete = connect_dots(pair, 0.05, 1e-14)
    for epsilon in (0.0, 0.1, 0.5, 1.0):
        upper, lower = pair.cell_masses(np.array([epsilon]))
        true = upper[-1] - math.exp(epsilon) * lower[-1]
        assert plain_delta(discrete.losses, discrete.probs, epsilon) == pytest.approx(true, rel=1e-9)
    for epsilon in (0.025, 0.12, 0.53):
        upper, lower = pair.cell_masses(np.array([epsilon]))
        true = upper[-1] - math.exp(epsilon) * lower[-1]
        assert plain_delta(discrete.losses, discrete.probs, epsilon) >= true
    assert discrete.probs.sum() + discrete.infinity == pytest.approx(1.0, abs=1e-12)


def test_truncation_makes_delta_larger_never_smaller() -> None:
    pair = SampledGaussianPair(1.0, 0.1, 0.0)
    rough = compose([(connect_dots(pair, 1e-3, 1e-6), 20)], 1e-4)
    fine = compose([(connect_dots(pair, 1e-3, 1e-14), 20)], 1e-4)
    for epsilon in (0.1, 0.5, 1.5):
        assert rough.delta_at(epsilon) >= fine.delta_at(epsilon) * (1 - 1e-9)
    assert rough.infinity > 0.0


def test_infinite_losses_alone_exhaust_delta() -> None:
    lossy = DiscreteLoss(0.1, 0, np.array([0.5, 0.49]), 0.01)
    assert compose([(lossy, 1)], 1e-3).epsilon_at(1e-3) == math.inf
    assert compose([(lossy, 1)], 0.1).epsilon_at(0.1) < 0.2


def test_different_pairs_compose_like_one_gaussian() -> None:
    parts = [(gaussian_pair(0.3), 1), (gaussian_pair(0.2), 6)]
    mu = math.sqrt(0.09 + 6 * 0.04)
    curve = compose_pairs(parts, 1e-6)
    assert curve.delta_at(1.0) == pytest.approx(gaussian_delta(mu, 1.0), rel=1e-3)
    assert curve.delta_at(1.0) >= gaussian_delta(mu, 1.0)
