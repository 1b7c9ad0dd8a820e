"""What is left of a sum whose noise came first (docs/theory/integers.md): its moments, by exact laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from discreet.audit.noise import _beyond

K = np.arange(-60, 61)
CENTRES = np.linspace(-0.5, 0.5, 41)


def law(variance: float, centre: float) -> np.ndarray:
    """P[round(x + X) = k] for k in K."""
    edges = (np.append(K, K[-1] + 1) - 0.5 - centre) / math.sqrt(variance)
    return np.where(edges[:-1] > 0.0, -np.diff(norm.sf(edges)), np.diff(norm.cdf(edges)))


def moments(variance: float, centre: float) -> tuple[float, float]:
    """Mean and variance of round(x + X) − x."""
    probs, left = law(variance, centre), K - centre
    mean = float(probs @ left)
    return mean, float(probs @ (left - mean) ** 2)


def series(variance: float, *, weight: float, power: float) -> float:
    m = np.arange(1, 30)
    waves = np.exp(-2.0 * (math.pi * m) ** 2 * variance)
    return float((waves * (weight + 1.0 / (math.pi * m) ** power)).sum())


@pytest.mark.parametrize("variance", [0.1, 0.2, 0.4])
def test_mean_and_variance_hardly_depend_on_the_update(variance: float) -> None:
    found = [moments(variance, float(centre)) for centre in CENTRES]
    mean_bound = series(variance, weight=0.0, power=1.0)
    variance_bound = series(variance, weight=4.0 * variance, power=2.0) + mean_bound**2
    largest_mean = max(abs(mean) for mean, _ in found)
    largest = max(abs(second - variance - 1.0 / 12.0) for _, second in found)
    # Tight: a missing factor in the exponent, or a forgotten twelfth, would show.
    assert 0.9 * mean_bound < largest_mean <= mean_bound * (1.0 + 1e-9)
    assert 0.8 * variance_bound < largest <= variance_bound * (1.0 + 1e-9)


@pytest.mark.parametrize("centre", [0.0, 0.25, 0.5, -0.3])
@pytest.mark.parametrize("threshold", [2.0, 4.7, 7.9])
def test_tails_are_those_of_the_lattice(centre: float, threshold: float) -> None:
    """Two silos of v = 2.2 against the one rounded Gaussian of the same variance that the audit takes."""
    first, second = centre - 0.2, 0.2
    total = np.convolve(law(2.2, first), law(2.2, second))
    left = np.arange(2 * K[0], 2 * K[-1] + 1) - centre
    stddev = math.sqrt(2 * 2.2 + 2 / 12)
    for side in (1.0, -1.0):
        exact = float(total[side * left > threshold].sum())
        assert _beyond(np.array([side * centre]), stddev, threshold)[0] == pytest.approx(exact, rel=0.01)
