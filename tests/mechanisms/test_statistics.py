"""Goodness of fit of every sampler, and proof that the tests see planted errors.

Seeds are fixed. Every p-value is required to be above 1e-5; about 180 are computed, so a correct sampler with
fresh seeds would fail this file with probability about 1.8e-3.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet.mechanisms import NoiseFamily, law_for, sample_share
from discreet.privacy.events import (
    DiscreteGaussianNoise,
    IntegerNoise,
    PolyaNoise,
    RoundedGaussianNoise,
    SkellamNoise,
)
from discreet.randomness import SecureRandom, SeededRandom

pytestmark = pytest.mark.statistical

ALARM = 1e-5
NUM_DRAWS = 200_000
STDDEVS = [0.3, 0.5, 1.0, 3.7, 40.0, 2.0**8, 2.0**12, 2.0**16, 2.0**20, 2.0**30, 2.0**40]


def _law(family: NoiseFamily, stddev: float) -> IntegerNoise:
    match family:
        case NoiseFamily.ROUNDED_GAUSSIAN:
            return RoundedGaussianNoise(stddev, 1)
        case NoiseFamily.DISCRETE_GAUSSIAN:
            return DiscreteGaussianNoise(stddev, 1)
        case NoiseFamily.SKELLAM:
            return SkellamNoise(stddev**2, 1)
        case NoiseFamily.DISCRETE_LAPLACE:
            return law_for(family, variance=stddev**2, num_silos=1)


GAUSSIAN_LIKE = [family for family in NoiseFamily if family is not NoiseFamily.DISCRETE_LAPLACE]
CASES = [
    pytest.param(family, stddev, id=f"{family.value}-{stddev:g}")
    for family in NoiseFamily
    for stddev in STDDEVS
    if family in GAUSSIAN_LIKE or stddev <= 2.0**12
]


@pytest.mark.parametrize(("family", "stddev"), CASES)
def test_draws_follow_the_exact_law(fit: Any, family: NoiseFamily, stddev: float) -> None:
    law = _law(family, stddev)
    draws = sample_share(law, NUM_DRAWS, SeededRandom(2024).derive(family.value, str(stddev)))
    exact = fit.exact_law(law)
    assert fit.chi_square_p(draws, exact) > ALARM
    assert fit.residue_p(draws, exact, 2) > ALARM
    assert fit.residue_p(draws, exact, 8) > ALARM


@pytest.mark.parametrize("family", GAUSSIAN_LIKE)
@pytest.mark.parametrize("stddev", [3.7, 2.0**12, 2.0**40])
def test_moments_to_sixth_order(family: NoiseFamily, stddev: float) -> None:
    """Cumulants: Gaussian-like up to κ4 = μ for Skellam and −1/120 for rounding; z-scores within 4.5."""
    draws = sample_share(_law(family, stddev), NUM_DRAWS, SeededRandom(77).derive(family.value, str(stddev)))
    x = draws / (math.sqrt(stddev**2 + 1 / 12) if family is NoiseFamily.ROUNDED_GAUSSIAN else stddev)
    mu = stddev**2
    excess = 1 / mu if family is NoiseFamily.SKELLAM else 0.0
    expected = {1: 0.0, 2: 1.0, 3: 0.0, 4: 3 + excess, 5: 0.0, 6: 15 + 15 * excess + excess**2}
    spread = {1: 1.0, 2: 2.0, 3: 15.0, 4: 96.0, 5: 945.0, 6: 10170.0}
    for order, value in expected.items():
        error = np.mean(x**order) - value
        # Spreads are those of the Gaussian; the heavier Skellam at σ = 3.7 gets the room of its kurtosis.
        assert abs(error) < 4.5 * math.sqrt(spread[order] * (1 + 15 * excess) / NUM_DRAWS), order


@pytest.mark.parametrize("family", list(NoiseFamily))
def test_sum_over_silos_follows_the_planned_law(fit: Any, family: NoiseFamily) -> None:
    planned = law_for(family, variance=40.0**2, num_silos=10)
    source = SeededRandom(5).derive(family.value)
    total = sum(sample_share(planned, NUM_DRAWS, source.derive("silo", i)) for i in range(10))
    # The sum of ten rounded Gaussians has the planned variance and is, at σ = 40, a discrete Gaussian up to
    # total variation 1e-9.
    match planned:
        case SkellamNoise():
            expected: IntegerNoise = SkellamNoise(planned.variance, 1)
        case PolyaNoise(scale=scale):
            expected = PolyaNoise(scale, 1, 1)
        case _:
            expected = DiscreteGaussianNoise(math.sqrt(planned.variance), 1)
    assert fit.chi_square_p(total, fit.exact_law(expected)) > ALARM
    assert fit.residue_p(total, fit.exact_law(expected), 4) > ALARM


def test_secure_source_draws_the_same_law(fit: Any) -> None:
    law = RoundedGaussianNoise(300.0, 1)
    # A fresh seed every run: one p-value at the false-alarm rate 1e-9.
    assert fit.chi_square_p(sample_share(law, NUM_DRAWS, SecureRandom()), fit.exact_law(law)) > 1e-9


@pytest.mark.parametrize("stddev", [3.7, 2.0**12, 2.0**39])
def test_planted_errors_are_caught(fit: Any, stddev: float) -> None:
    """The same tests reject a variance 5 % too large, a tail cut at 2.9 σ and draws that lost odd values."""
    good = DiscreteGaussianNoise(stddev, 1)
    exact = fit.exact_law(good)
    source = SeededRandom(11).derive(str(stddev))
    draws = sample_share(good, NUM_DRAWS, source)
    wide = sample_share(DiscreteGaussianNoise(stddev * math.sqrt(1.05), 1), NUM_DRAWS, source)
    cut = draws[np.abs(draws) <= 2.9 * stddev]
    assert fit.chi_square_p(draws, exact) > ALARM
    assert fit.chi_square_p(wide, exact) < 1e-9
    assert fit.chi_square_p(cut, exact) < 1e-9
    assert fit.residue_p(2 * (draws // 2), exact, 2) < 1e-9


def test_coordinates_and_pair_halves_are_uncorrelated() -> None:
    """The two halves of a block are the cosine and the sine of the same pairs: the easiest place to err."""
    draws = sample_share(RoundedGaussianNoise(100.0, 1), 1 << 14, SeededRandom(3)).astype(float)
    half = len(draws) // 2
    for x, y in [(draws[:half], draws[half:]), (draws[:-1], draws[1:])]:
        for f in (lambda v: v, np.abs, lambda v: v**2):
            assert stats.pearsonr(f(x), f(y)).pvalue > ALARM
