"""From a requested variance to a law, its tails and its domain."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from discreet.arrays import Floats
from discreet.errors import ConfigurationError
from discreet.mechanisms import NoiseFamily, law_for, per_silo, sample_share, sample_tail_bound
from discreet.mechanisms.rounded_gaussian import rounded_variance
from discreet.privacy.events import DiscreteGaussianNoise, RoundedGaussianNoise, SkellamNoise
from discreet.randomness import SeededRandom


def _pmf(law: DiscreteGaussianNoise | RoundedGaussianNoise | SkellamNoise, reach: int) -> Floats:
    k = np.arange(-reach, reach + 1)
    match law:
        case RoundedGaussianNoise(silo_stddev=s):
            return special.ndtr((k + 0.5) / s) - special.ndtr((k - 0.5) / s)
        case DiscreteGaussianNoise(silo_stddev=s):
            mass = np.exp(-0.5 * (k / s) ** 2)
            return mass / mass.sum()
        case SkellamNoise(silo_variance=v):
            return special.ive(np.abs(k), v)


@given(
    family=st.sampled_from([family for family in NoiseFamily if family is not NoiseFamily.DISCRETE_LAPLACE]),
    share=st.floats(0.2, 2.0**70),
    num_silos=st.integers(1, 1000),
)
def test_sum_has_at_least_the_requested_variance(family: NoiseFamily, share: float, num_silos: int) -> None:
    law = law_for(family, variance=share * num_silos, num_silos=num_silos)
    true = law.variance
    if isinstance(law, RoundedGaussianNoise):
        true = num_silos * rounded_variance(law.silo_stddev)
    assert share * num_silos <= true <= share * num_silos * 1.35
    if share > 1:
        assert true <= share * num_silos * (1 + 1e-6)


@pytest.mark.parametrize("stddev", [0.3, 0.4, 0.7, 2.0])
def test_rounded_variance_is_that_of_the_mass_function(stddev: float) -> None:
    k = np.arange(-40, 41)
    exact = float((_pmf(RoundedGaussianNoise(stddev, 1), 40) * k**2).sum())
    assert rounded_variance(stddev) == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize(
    "law",
    [
        RoundedGaussianNoise(0.3, 5),
        RoundedGaussianNoise(2.0, 8),
        DiscreteGaussianNoise(0.5, 3),
        DiscreteGaussianNoise(6.0, 4),
        SkellamNoise(0.09, 2),
        SkellamNoise(30.0, 6),
    ],
)
@pytest.mark.parametrize("prob", [1e-3, 1e-9])
def test_tail_bound_holds_and_is_not_idle(
    law: DiscreteGaussianNoise | RoundedGaussianNoise | SkellamNoise, prob: float
) -> None:
    """Against the exact convolution of the shares; at most 40 % (and one integer) above the true quantile."""
    share = _pmf(law, 100)
    total = share
    for _ in range(law.num_silos - 1):
        total = np.convolve(total, share)
    magnitude = np.abs(np.arange(len(total)) - len(total) // 2)
    bound = sample_tail_bound(law, prob)
    assert total[magnitude > bound].sum() <= prob
    quantile = min(m for m in range(200) if total[magnitude > m].sum() <= prob)
    assert bound <= 1.4 * quantile + 1.5


def test_skellam_tail_is_heavier_than_the_gaussian_one() -> None:
    assert sample_tail_bound(SkellamNoise(1.0, 1), 1e-9) > 1.1 * math.sqrt(2 * math.log(2e9))


def test_per_silo_keeps_the_share() -> None:
    law = law_for(NoiseFamily.ROUNDED_GAUSSIAN, variance=1000.0, num_silos=10)
    assert per_silo(law, 3).silo_stddev == law.silo_stddev
    assert per_silo(law, 3).variance == pytest.approx(0.3 * law.variance)


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (lambda: law_for(NoiseFamily.SKELLAM, variance=math.nan, num_silos=2), "variance must be positive"),
        (lambda: law_for(NoiseFamily.SKELLAM, variance=0.01, num_silos=1), "at least 0.3"),
        (lambda: law_for(NoiseFamily.DISCRETE_GAUSSIAN, variance=2.0**90, num_silos=1), "at most 2\\^40"),
        (lambda: law_for(NoiseFamily.ROUNDED_GAUSSIAN, variance=0.1, num_silos=1), "Raise the scale"),
        (lambda: law_for(NoiseFamily.SKELLAM, variance=1.0, num_silos=0), "num_silos"),
        (lambda: per_silo(SkellamNoise(1.0, 1), 0), "num_silos"),
        (lambda: sample_tail_bound(SkellamNoise(1.0, 1), 0.0), "prob must be in"),
        (lambda: sample_share(SkellamNoise(2.0**81, 1), 1, SeededRandom(1)), "at most 2\\^40"),
        (lambda: sample_share(SkellamNoise(1.0, 1), -1, SeededRandom(1)), "size"),
    ],
)
def test_out_of_domain_is_refused_with_the_knob(request_: Callable[..., Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        request_()


def test_tail_constants_are_those_of_the_docstring() -> None:
    log_odds = math.log(2 / 1e-9)
    assert sample_tail_bound(DiscreteGaussianNoise(10.0, 4), 1e-9) == pytest.approx(
        20 * math.sqrt(2 * log_odds)
    )
    excess = 5 * math.log1p(2 * sum(math.exp(-2 * (math.pi * m * 0.3) ** 2) for m in (1, 2, 3)))
    expected = math.sqrt(2 * 5 * (0.09 + 1 / 12) * (log_odds + excess))
    assert sample_tail_bound(RoundedGaussianNoise(0.3, 5), 1e-9) == pytest.approx(expected, rel=1e-9)
    bound = sample_tail_bound(SkellamNoise(4.0, 3), 1e-9)
    exponent = math.hypot(12, bound) - 12 - bound * math.asinh(bound / 12)
    assert exponent == pytest.approx(-log_odds, rel=1e-6)


@pytest.mark.parametrize("stddev", [0.3, 0.5])
def test_moment_generating_function_of_the_rounded_gaussian(stddev: float) -> None:
    """E[e^{tX}] ≤ (1 + ρ)·e^{t²(σ² + 1/12)/2}, and the 1/12 of the rounding is needed."""
    k = np.arange(-30, 31)
    mass = special.ndtr(-(np.abs(k) - 0.5) / stddev) - special.ndtr(-(np.abs(k) + 0.5) / stddev)
    rho = 2 * sum(math.exp(-2 * (math.pi * m * stddev) ** 2) for m in (1, 2, 3))
    t = np.linspace(0, 8, 200)
    moments = np.exp(np.outer(t, k)) @ mass
    assert np.all(moments <= (1 + rho) * np.exp(0.5 * t**2 * (stddev**2 + 1 / 12)))
    assert np.any(moments > (1 + rho) * np.exp(0.5 * t**2 * stddev**2))
