"""Goodness of fit of every sampler, and proof that the tests see planted errors.

Seeds are fixed. Every p-value is required to be above 1e-5; about 180 are computed, so a correct sampler with
fresh seeds would fail this file with probability about 1.8e-3.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from discreet.mechanisms import (
    NoiseFamily,
    PoissonBinomial,
    laplace_variance,
    law_for,
    sample_discrete_laplace,
    sample_share,
)
from discreet.mechanisms.binomial import draw_binomial
from discreet.mechanisms.symmetric_binomial import draw_symmetric_binomial
from discreet.privacy.events import (
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    IntegerNoise,
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


CASES = [pytest.param(f, s, id=f"{f.value}-{s:g}") for f in NoiseFamily for s in STDDEVS]


@pytest.mark.parametrize(("family", "stddev"), CASES)
def test_draws_follow_the_exact_law(fit, family, stddev):
    law = _law(family, stddev)
    draws = sample_share(law, NUM_DRAWS, SeededRandom(2024).derive(family.value, str(stddev)))
    exact = fit.exact_law(law)
    assert fit.chi_square_p(draws, exact) > ALARM
    assert fit.residue_p(draws, exact, 2) > ALARM
    assert fit.residue_p(draws, exact, 8) > ALARM


@pytest.mark.parametrize("family", list(NoiseFamily))
@pytest.mark.parametrize("stddev", [3.7, 2.0**12, 2.0**40])
def test_moments_to_sixth_order(family, stddev):
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
def test_sum_over_silos_follows_the_planned_law(fit, family):
    planned = law_for(family, variance=40.0**2, num_silos=10)
    source = SeededRandom(5).derive(family.value)
    total = sum(sample_share(planned, NUM_DRAWS, source.derive("silo", i)) for i in range(10))
    # The sum of ten rounded Gaussians has the planned variance and is, at σ = 40, a discrete Gaussian up to
    # total variation 1e-9.
    target = SkellamNoise(planned.variance, 1) if family is NoiseFamily.SKELLAM else None
    target = target or DiscreteGaussianNoise(math.sqrt(planned.variance), 1)
    assert fit.chi_square_p(total, fit.exact_law(target)) > ALARM
    assert fit.residue_p(total, fit.exact_law(target), 4) > ALARM


def test_secure_source_draws_the_same_law(fit):
    law = RoundedGaussianNoise(300.0, 1)
    # A fresh seed every run: one p-value at the false-alarm rate 1e-9.
    assert fit.chi_square_p(sample_share(law, NUM_DRAWS, SecureRandom()), fit.exact_law(law)) > 1e-9


@pytest.mark.parametrize("stddev", [3.7, 2.0**12, 2.0**39])
def test_planted_errors_are_caught(fit, stddev):
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


def test_coordinates_and_pair_halves_are_uncorrelated():
    """The two halves of a block are the cosine and the sine of the same pairs: the easiest place to err."""
    draws = sample_share(RoundedGaussianNoise(100.0, 1), 1 << 14, SeededRandom(3)).astype(float)
    half = len(draws) // 2
    for x, y in [(draws[:half], draws[half:]), (draws[:-1], draws[1:])]:
        for f in (lambda v: v, np.abs, lambda v: v**2):
            assert stats.pearsonr(f(x), f(y)).pvalue > ALARM


@pytest.mark.parametrize("scale", [0.4, 3.0, 1000.0, 2.0**39])
def test_discrete_laplace_follows_its_law(scale):
    draws = sample_discrete_laplace(
        DiscreteLaplaceNoise(scale), NUM_DRAWS, SeededRandom(8).derive(str(scale))
    )
    ratio = draws.var() / laplace_variance(DiscreteLaplaceNoise(scale))
    # Kurtosis at most 6 + 1/variance.
    assert abs(ratio - 1) < 4.5 * math.sqrt(
        (5 + 1 / laplace_variance(DiscreteLaplaceNoise(scale))) / NUM_DRAWS
    )
    edges = np.unique(np.round(scale * np.array([-5, -3, -2, -1, -0.5, 0.5, 1, 2, 3, 5])))
    p = math.exp(-1 / scale)
    below = np.where(edges < 0, p ** (-edges) / (1 + p), 1 - p ** (edges + 1) / (1 + p))
    probs = np.diff(np.concatenate([[0.0], below, [1.0]]))
    counts = np.bincount(np.searchsorted(edges, draws, side="left"), minlength=len(probs))
    assert stats.chisquare(counts, probs * NUM_DRAWS).pvalue > ALARM


@pytest.mark.parametrize("trials", [1, 7, 64, 150, 257, 5000, 2**17 + 12_345, 2**22, 2**30 + 1])
def test_binomial_follows_its_law(trials):
    for prob in (0.25, 0.3, 0.5, 0.74999):
        count = 60_000 if trials <= 257 else 20_000
        draws = draw_binomial(trials, np.full(count, prob), SeededRandom(4).derive(trials, str(prob)))
        draws += trials // 2
        edges = np.unique(stats.binom.ppf(np.linspace(0, 1, 61)[1:-1], trials, prob))
        probs = np.diff(np.concatenate([[0.0], stats.binom.cdf(edges, trials, prob), [1.0]]))
        counts = np.bincount(np.searchsorted(edges, draws, side="left"), minlength=len(probs))
        # The last cell is empty where the largest edge is the largest value.
        assert counts[probs < 1e-12].sum() == 0
        keep = probs >= 1e-12
        assert stats.chisquare(counts[keep], probs[keep] / probs[keep].sum() * count).pvalue > ALARM


@pytest.mark.parametrize("log_trials", [0, 5, 6, 9, 12, 13, 21])
def test_symmetric_binomial_follows_its_law(log_trials):
    """Against the exact law."""
    draws = draw_symmetric_binomial(log_trials, NUM_DRAWS, SeededRandom(6).derive(log_trials))
    trials = 2**log_trials
    centred, stddev = draws - trials // 2, math.sqrt(trials) / 2
    edges = np.unique(stats.binom.ppf(np.linspace(0, 1, 81)[1:-1], trials, 0.5))
    below = stats.binom.cdf(edges, trials, 0.5)
    probs = np.diff(np.concatenate([[0.0], below, [1.0]]))
    counts = np.bincount(np.searchsorted(edges, draws, side="left"), minlength=len(probs))
    keep = probs >= 1e-12
    assert counts[~keep].sum() == 0
    assert stats.chisquare(counts[keep], probs[keep] / probs[keep].sum() * NUM_DRAWS).pvalue > ALARM
    if log_trials >= 9:
        assert stats.binomtest(int(np.count_nonzero(centred % 2)), NUM_DRAWS, 0.5).pvalue > ALARM
        fourth = np.mean((centred / stddev) ** 4)
        assert abs(fourth - (3 - 2 / trials)) < 4.5 * math.sqrt(96 / NUM_DRAWS)


@pytest.mark.parametrize(("trials", "bias"), [(2**40, 0.25), (2**62 + 99, 0.1), (2**82, 2.0**-22)])
def test_very_wide_binomials_have_gaussian_moments_and_fair_low_bits(trials, bias):
    """Up to σ = 2^40: moments to sixth order, cells and low bits; skewness is below 2^-19 and not seen."""
    probs = np.linspace(0.5 - bias, 0.5 + bias, NUM_DRAWS // 2)
    draws = draw_binomial(trials, probs, SeededRandom(12).derive(trials))
    spread = math.sqrt(trials) * np.sqrt(probs * (1.0 - probs))
    # Both numbers are below 2^62, and their difference is exact to 2^-52 of the larger.
    z = (draws - np.round((probs - 0.5) * trials)) / spread
    for order, (value, variance) in enumerate([(0, 1), (1, 2), (0, 15), (3, 96), (0, 945), (15, 10170)], 1):
        assert abs(np.mean(z**order) - value) < 4.5 * math.sqrt(variance / len(z)), order
    counts = np.histogram(stats.norm.cdf(z), bins=100, range=(0.0, 1.0))[0]
    assert stats.chisquare(counts).pvalue > ALARM
    assert stats.chisquare(np.bincount(draws % 8, minlength=8)).pvalue > ALARM


def test_sum_of_senders_of_very_many_trials_has_the_planned_law():
    """Ten senders of 2^78 trials: σ = √10·2^38, at the mean that the data give."""
    mechanism, count = PoissonBinomial(1.0, 2**78, 2.0**-19), 50_000
    values = np.linspace(-1.0, 1.0, 10)
    total = sum(mechanism.encode(np.full(count, x), SeededRandom(i)) for i, x in enumerate(values))
    z = (mechanism.decode(total, 10) - values.sum()) * mechanism.bias * 2.0**40 / math.sqrt(10)
    assert stats.kstest(z, "norm").pvalue > ALARM


@pytest.mark.parametrize("trials", [15, 16, 1001, 2**40 + 1])
def test_poisson_binomial_estimate_is_unbiased(trials):
    mechanism = PoissonBinomial(coordinate_bound=2.0, trials=trials, bias=0.25)
    x = np.linspace(-2.0, 2.0, 2000)
    total = sum(mechanism.encode(x, SeededRandom(i)) for i in range(50))
    error = mechanism.decode(total, 50) - 50 * x
    stddev = 2.0 / (trials * 0.25) * math.sqrt(50 * trials) / 2
    assert abs(error.mean()) < 4.5 * stddev / math.sqrt(2000)
    assert 0.75 < error.std() / stddev < 1.05
