"""The smoothing argument (docs/theory/integers.md, Lemmas 1 and 2), against exact laws on the integers."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from discreet.accounting.lattice import (
    discrete_sum_ratio,
    kernel_variance,
    rounded_sum_ratio,
    smoothing_ratio,
    theta,
)
from discreet.arrays import Floats

K = np.arange(-60, 61)


def rounded(variance: float) -> Floats:
    s = math.sqrt(variance)
    return norm.sf((abs(K) - 0.5) / s) - norm.sf((abs(K) + 0.5) / s)


def discrete_gaussian(variance: float) -> Floats:
    law = np.exp(-(K**2) / (2 * variance))
    return law / law.sum()


def worst_log_ratio(p: Floats, q: Floats, reach: int) -> float:
    seen = abs(K) <= reach
    return float(np.max(np.abs(np.log(p[seen] / q[seen]))))


def test_theta_bounds_the_lattice_sum() -> None:
    for variance in (0.1, 0.25, 0.5, 1.0):
        for shift in (0.0, 0.3, 0.5):
            j = np.arange(-50, 51)
            total = np.exp(-((j + shift) ** 2) / (2 * variance)).sum() / math.sqrt(2 * math.pi * variance)
            assert abs(total - 1.0) <= theta(variance) + 1e-14
    assert theta(0.25) == pytest.approx(2 * math.exp(-(math.pi**2) / 2), rel=0.01)


@pytest.mark.parametrize("variance", [0.3, 0.5, 0.8])
def test_sum_of_two_rounded_gaussians_is_a_rounded_smear(variance: float) -> None:
    # (a): round(X) + round(Y) against round(N(0, 2v) + U), U uniform: integrate over the dither.
    total = np.convolve(rounded(variance), rounded(variance), mode="same")
    s = math.sqrt(2 * variance)
    u = (np.arange(2000) + 0.5) / 2000 - 0.5
    smear = np.mean(norm.cdf((K[:, None] + 0.5 - u) / s) - norm.cdf((K[:, None] - 0.5 - u) / s), axis=1)
    bound = rounded_sum_ratio(variance, 2)
    found = worst_log_ratio(total, smear, 4)
    assert found <= bound + 1e-6
    # Tight to a small factor: a missing power of two or π in the exponent would show.
    assert found >= 0.2 * bound


@pytest.mark.parametrize("variance", [0.3, 0.5])
@pytest.mark.parametrize("centres", [(0.5, 0.25), (-0.4, 0.13), (0.5, -0.5)])
def test_lemma_2_holds_for_real_centres(variance: float, centres: tuple[float, float]) -> None:
    """round(x + X) + round(y + Y) against round(x + y + N(0, 2v) + U): rounding may come after the noise."""
    s = math.sqrt(variance)
    laws = [norm.cdf((K + 0.5 - c) / s) - norm.cdf((K - 0.5 - c) / s) for c in centres]
    total = np.convolve(laws[0], laws[1], mode="same")
    wide, sum_of_centres = math.sqrt(2 * variance), sum(centres)
    u = (np.arange(2000) + 0.5) / 2000 - 0.5 + sum_of_centres
    cells = norm.cdf((K[:, None] + 0.5 - u) / wide) - norm.cdf((K[:, None] - 0.5 - u) / wide)
    found = worst_log_ratio(total, np.mean(cells, axis=1), 4)
    assert found <= rounded_sum_ratio(variance, 2) + 1e-6


@pytest.mark.parametrize("variance", [0.3, 0.5, 0.8])
def test_sum_of_two_discrete_gaussians(variance: float) -> None:
    total = np.convolve(discrete_gaussian(variance), discrete_gaussian(variance), mode="same")
    found = worst_log_ratio(total, discrete_gaussian(2 * variance), 5)
    assert 0.2 * discrete_sum_ratio(variance, 2) <= found <= discrete_sum_ratio(variance, 2)


@pytest.mark.parametrize("kernel", [0.3, 0.5])
def test_discrete_gaussian_is_a_smoothed_gaussian(kernel: float) -> None:
    # (c): y ~ N(0, v − r²), then N_Z(y, r²), integrated over y on a fine grid.
    variance = 2.0
    y = np.linspace(-14, 14, 28_001)
    weight = np.exp(-(y**2) / (2 * (variance - kernel)))
    weight /= weight.sum()
    local = np.exp(-((K[:, None] - y) ** 2) / (2 * kernel))
    smoothed = (local / local.sum(axis=0)) @ weight
    found = worst_log_ratio(discrete_gaussian(variance), smoothed, 9)
    assert found <= smoothing_ratio(kernel)


def test_many_silos_sum_every_step() -> None:
    # 100 silos: the terms of the first steps, one by one, then a bound for the rest.
    each = [-math.log1p(-theta(0.5 * j / (j + 1))) for j in range(1, 100)]
    assert sum(each) <= rounded_sum_ratio(0.5, 100) <= 1.01 * sum(each)


@pytest.mark.parametrize("ratio", [0.1, 1e-6, 1e-20])
def test_kernel_variance_is_enough_and_not_wasteful(ratio: float) -> None:
    assert smoothing_ratio(kernel_variance(ratio)) <= ratio <= 2 * smoothing_ratio(kernel_variance(ratio))
