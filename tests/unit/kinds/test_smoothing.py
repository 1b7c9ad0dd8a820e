from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from discreet.arrays import Floats
from discreet.kinds import AveragingConfig, MomentumConfig, SmoothingConfig


def on_a_cycle(vector: Floats, sigma: float) -> Floats:
    return SmoothingConfig(sigma=sigma).smooth(vector)


def on_a_chain(vector: Floats, sigma: float) -> Floats:
    return SmoothingConfig(graph="chain", sigma=sigma).smooth(vector)


def matrix(size: int, sigma: float, *, cycle: bool) -> np.ndarray:
    """I + σ·(graph Laplacian), written out edge by edge."""
    out = np.eye(size)
    edges = [(i, i + 1) for i in range(size - 1)] + ([(size - 1, 0)] if cycle else [])
    for a, b in edges:
        out[a, a] += sigma
        out[b, b] += sigma
        out[a, b] -= sigma
        out[b, a] -= sigma
    return out


@given(size=st.integers(1, 40), sigma=st.floats(0.0, 50.0), seed=st.integers(0, 2**32 - 1))
def test_both_solvers_invert_the_written_out_matrix(size: int, sigma: float, seed: int) -> None:
    vector = np.random.default_rng(seed).normal(size=size)
    for smooth, cycle in ((on_a_cycle, True), (on_a_chain, False)):
        expected = np.linalg.solve(matrix(size, sigma, cycle=cycle), vector)
        np.testing.assert_allclose(smooth(vector, sigma), expected, atol=1e-10)


def test_smoothing_keeps_the_sum_and_lowers_the_variance_of_noise() -> None:
    """For independent noise the variance falls to the mean of 1/(1 + 2σ(1 - cos))², 3·5^-1.5 at σ = 1."""
    noise = np.random.default_rng(0).normal(size=200_000)
    smooth = on_a_cycle(noise, 1.0)
    angles = 2 * np.pi * np.arange(4096) / 4096
    expected = np.mean(1 / (1 + 2 * (1 - np.cos(angles))) ** 2)
    assert smooth.sum() == pytest.approx(noise.sum(), abs=1e-6)
    # five standard errors of a variance from 200,000 correlated values
    assert smooth.var() == pytest.approx(expected, rel=5 * np.sqrt(2 * 3 / 200_000))


def test_sigma_zero_changes_nothing() -> None:
    vector = np.array([1.0, -2.0, 3.0])
    np.testing.assert_allclose(on_a_cycle(vector, 0.0), vector, rtol=1e-14)
    np.testing.assert_allclose(on_a_chain(vector, 0.0), vector, rtol=1e-14)


def test_the_rule_sees_the_smoothed_mean() -> None:
    mean = np.array([4.0, 0.0, 0.0, 0.0])
    smoothing = SmoothingConfig(sigma=1.0)
    for rule in (
        AveragingConfig(learning_rate=0.5, smoothing=smoothing),
        MomentumConfig(kind="momentum", learning_rate=0.5, smoothing=smoothing),
    ):
        _, moved = rule.step(rule.init(4), np.zeros(4), mean, rounds=1)
        np.testing.assert_allclose(moved, 0.5 * on_a_cycle(mean, 1.0))


@pytest.mark.parametrize("sigma", [-0.1, float("nan"), float("inf")])
def test_a_negative_sigma_is_refused(sigma: float) -> None:
    with pytest.raises(ValidationError):
        SmoothingConfig(sigma=sigma)
