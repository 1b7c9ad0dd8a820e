"""Skellam noise: Lemma S in 50-digit arithmetic, the exact log law, and the comparison it supports."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from discreet.accounting.skellam import log_ratio_envelope, log_tail, skellam_against_discrete_gaussian
from discreet.accounting.skellam_exact import skellam_log_pmf, skellam_rdp_per_square


def exact_log_ratio(k: int, variance: int) -> mpf:
    """log P[Skellam = k] − log N_Z(0, variance)(k), 60 digits."""
    with mpmath.workdps(60):
        mu = mpmath.mpf(variance)
        # jtheta(3, 0, e^{-1/2μ}) = Σ_j e^{−j²/2μ}; equal to √(2πμ) to e^{−2π²μ}.
        normaliser = mpmath.sqrt(2 * mpmath.pi * mu) * (1 + 2 * mpmath.exp(-2 * mpmath.pi**2 * mu))
        log_p = mpmath.log(mpmath.besseli(k, mu)) - mu
        return log_p + mpmath.mpf(k) ** 2 / (2 * mu) + mpmath.log(normaliser)


# All within the lemma's reach, |k| ≤ variance/2.
CASES = [
    (variance, x)
    for variance, x in itertools.product([64, 100, 1000, 2**14], [0.0, 0.5, 1, 2, 3.5, 6, 9])
    if 2 * round(x * math.sqrt(variance)) <= variance
]


@pytest.mark.parametrize(("variance", "x"), CASES)
def test_lemma_s(variance: int, x: float) -> None:
    k = round(x * math.sqrt(variance))
    y = k / math.sqrt(variance)
    ratio = exact_log_ratio(k, variance)
    leading = (y**4 - 6 * y**2 + 3) / (24 * variance)
    rest = (y**6 / 80 + y**4 / 8 + 0.35 * y**2 + 0.15) / variance**2
    assert abs(float(ratio) - leading) <= rest
    assert abs(float(ratio)) <= log_ratio_envelope(variance, max(y, 1e-9))


@pytest.mark.parametrize(("variance", "k"), [(4.0, 12), (25.0, 0), (64.0, 40), (1000.0, 300), (1000.0, 999)])
def test_log_pmf_against_the_bessel_function(variance: float, k: int) -> None:
    with mpmath.workdps(40):
        exact = mpmath.log(mpmath.besseli(k, variance)) - variance
    assert float(skellam_log_pmf(np.array([float(k)]), variance)[0]) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("k", [10, 30, 80])
def test_tail_is_bounded_and_not_by_far(k: int) -> None:
    pmf = np.exp(skellam_log_pmf(np.arange(k, k + 400, dtype=float), 50.0))
    assert math.log(pmf.sum()) <= log_tail(50.0, k) <= math.log(pmf.sum()) + 4.0


@pytest.mark.parametrize("draws", [1, 1000])
def test_comparison_holds_where_it_can_be_computed(draws: int) -> None:
    """The likelihood ratio of ``draws`` draws, by convolution of its law, stays within the bound."""
    variance, tail = 2500.0, 1e-6
    comparison = skellam_against_discrete_gaussian(variance, draws, tail)
    k = np.arange(-500, 501, dtype=float)
    log_p = skellam_log_pmf(k, variance)
    log_g = -(k**2) / (2 * variance)
    log_g -= math.log(np.exp(log_g).sum())
    step = 1e-6
    # Round log ratios to the grid; the error over all draws is below draws·step/2.
    index = np.round((log_p - log_g) / step).astype(int)
    offset = index.min()
    law = np.bincount(index - offset, np.exp(log_p))
    size = 1 << 22
    total = np.fft.irfft(np.fft.rfft(law, size) ** draws, size)
    values = (np.arange(size) + draws * offset) * step
    beyond = total[values > comparison.bound + draws * step].sum()
    assert beyond <= tail
    # Not absurdly loose: some standard deviations of the log ratio, and the largest single one.
    stddev = math.sqrt(24 * draws) / (24 * variance)
    assert comparison.bound < 10 * stddev + 2 * log_ratio_envelope(variance, 8.0)


def test_comparison_needs_a_fine_grid() -> None:
    assert skellam_against_discrete_gaussian(63.9, 10, 1e-9) is None
    assert skellam_against_discrete_gaussian(2.0**36, 10, 0.0) is None
    assert skellam_against_discrete_gaussian(100.0, 10**9, 1e-30) is None
    assert skellam_against_discrete_gaussian(2.0**36, 10**7, 1e-15).bound < 1e-6


def test_large_shifts_never_cost_more_than_their_square() -> None:
    for variance in (1.0, 9.0, 64.0):
        one, many = skellam_rdp_per_square(variance, 1), skellam_rdp_per_square(variance, 8)
        assert np.all(many >= one * (1 - 1e-12))
        assert np.allclose(many[2:33], one[2:33], rtol=2e-2)


def test_rdp_per_square_against_a_plain_sum() -> None:
    k = np.arange(-60, 61, dtype=float)
    log_p = skellam_log_pmf(k, 9.0)
    direct = math.log(np.exp(4 * log_p[:-2] - 3 * log_p[2:]).sum()) / 3
    assert skellam_rdp_per_square(9.0, 2)[4] >= direct / 4 * (1 - 1e-9)
