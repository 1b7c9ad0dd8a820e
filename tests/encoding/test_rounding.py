"""Dithered rounding: the law, the bounds, and that the bounds are not idle."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet.encoding import rounded_l2_bound
from discreet.encoding.rounding import arithmetic_error, round_dithered
from discreet.errors import ConfigurationError
from discreet.randomness import SeededRandom


@given(values=st.lists(st.floats(-(2.0**50), 2.0**50), min_size=1, max_size=20), seed=st.integers(0, 2**30))
def test_rounds_to_a_neighbour(values: list[float], seed: int) -> None:
    """Within one of the value; integers stay."""
    x = np.array(values)
    rounded = round_dithered(x, SeededRandom(seed))
    for value, integer in zip(values, rounded, strict=True):
        assert abs(Fraction(int(integer)) - Fraction(value)) < 1 or value == int(integer)
        if value == int(value):
            assert integer == int(value)


def test_unbiased_with_the_right_variance() -> None:
    """Bernoulli(fraction) around the floor; 10^6 draws, z below 5 (false alarm 3e-6 each, fixed seed)."""
    for value in (0.1, -0.1, 3.75, -1e6 + 0.5):
        draws = round_dithered(np.full(250_000, value), SeededRandom(1).derive(str(value)))
        fraction = value - math.floor(value)
        up = np.count_nonzero(draws == math.floor(value) + 1)
        assert set(np.unique(draws)) <= {math.floor(value), math.floor(value) + 1}
        spread = math.sqrt(fraction * (1 - fraction) * len(draws))
        assert abs(up - fraction * len(draws)) < 5 * spread


def test_difference_of_neighbours_is_stochastic_rounding_of_the_difference() -> None:
    """What the sensitivity bound rests on: same dither, the difference is Bernoulli, independent."""
    rng = np.random.default_rng(1)
    d = 200_000
    x = rng.normal(size=d) * 1000
    g = np.full(d, 0.3)
    difference = round_dithered(x + g, SeededRandom(2)) - round_dithered(x, SeededRandom(2))
    assert set(np.unique(difference)) == {0, 1}
    assert stats.binomtest(int(difference.sum()), d, 0.3).pvalue > 1e-5
    assert stats.pearsonr(difference[:-1], difference[1:]).pvalue > 1e-5


@pytest.mark.parametrize(("norm", "dimension"), [(3.0, 400), (50.0, 400), (2.0, 9)])
def test_likely_bound_fails_at_most_with_beta(norm: float, dimension: int) -> None:
    """2,000 roundings at β = 0.02; a bound without any one of its terms fails far more often."""
    beta, trials = 0.02, 2000
    bound = rounded_l2_bound(norm, dimension, beta).bound
    g = np.random.default_rng(3).normal(size=dimension)
    g *= norm / np.linalg.norm(g)
    norms = np.linalg.norm(round_dithered(np.tile(g, trials), SeededRandom(4)).reshape(trials, -1), axis=1)
    assert np.mean(norms > bound) <= beta
    assert norms.max() <= rounded_l2_bound(norm, dimension, 0.0).bound
    # What remains when √(2 ln 1/β)(…) or d/4 is forgotten is exceeded more often than β.
    without_tail = math.sqrt(norm**2 + dimension / 4)
    half = np.linalg.norm(
        round_dithered(np.full(dimension * trials, 0.5), SeededRandom(5)).reshape(trials, -1), axis=1
    )
    assert np.mean(half > math.sqrt(0.25 * dimension + dimension / 4)) > beta
    assert without_tail < bound


def test_formula_at_a_point() -> None:
    """Kairouz, Liu, Steinke (2021), Theorem 1, worked by hand: ‖g‖ = 100, d = 400, β = e^{-2}."""
    likely = rounded_l2_bound(100.0, 400, math.exp(-2))
    assert likely.bound == pytest.approx(math.sqrt(10_000 + 100 + 2 * (100 + 10)), rel=1e-12)
    assert likely.failure_prob == math.exp(-2)
    assert rounded_l2_bound(100.0, 400, 0.0).bound == 120.0
    # The certain bound is chosen, and costs no δ, where it is the smaller.
    assert rounded_l2_bound(1.0, 1, 1e-12).failure_prob == 0.0


def test_arithmetic_error_covers_scaling_and_the_finite_dither() -> None:
    """Exact rationals: scaling errs by at most 2^-53 relative."""
    x = np.random.default_rng(5).normal(size=200)
    scale = 1234.0
    exact = [Fraction(float(v)) * Fraction(scale) for v in x]
    moved = math.sqrt(sum(float(Fraction(float(v)) - e) ** 2 for v, e in zip(x * scale, exact, strict=True)))
    assert moved <= arithmetic_error(float(np.linalg.norm(x * scale)), 200)


@pytest.mark.parametrize(
    "call",
    [
        lambda: rounded_l2_bound(math.nan, 3, 0.1),
        lambda: rounded_l2_bound(1.0, 3, 1.0),
        lambda: rounded_l2_bound(1.0, 3, math.nan),
    ],
)
def test_arguments_out_of_range(call: Callable[..., Any]) -> None:
    with pytest.raises(ConfigurationError):
        call()
