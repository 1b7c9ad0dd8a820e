"""Integer noise seen as Gaussian, against hockey-stick divergences of the real integer mechanisms."""

import math

import numpy as np
import pytest

from discreet.accounting import Pld, Rdp, epsilon
from discreet.accounting.coupling import gaussian_view
from discreet.accounting.skellam_exact import skellam_log_pmf
from discreet.arrays import Floats
from discreet.privacy.events import (
    DiscreteGaussianNoise,
    GaussianNoise,
    NoSampling,
    PoissonSampling,
    Release,
    Repeated,
    RoundedGaussianNoise,
    SkellamNoise,
)

K = np.arange(-4000, 4001, dtype=float)


def law_of(noise: DiscreteGaussianNoise | RoundedGaussianNoise | SkellamNoise) -> Floats:
    match noise:
        case SkellamNoise():
            return np.maximum(np.exp(skellam_log_pmf(K, noise.variance)), 1e-300)
        case DiscreteGaussianNoise(silo_stddev=s, num_silos=n):
            law = np.exp(-(K**2) / (2 * s * s))
            law /= law.sum()
        case RoundedGaussianNoise(silo_stddev=s, num_silos=n):
            from scipy.stats import norm

            law = norm.sf((abs(K) - 0.5) / s) - norm.sf((abs(K) + 0.5) / s)
    transform = np.fft.rfft(np.fft.ifftshift(law)) ** n
    return np.maximum(np.fft.fftshift(np.fft.irfft(transform, len(K))), 1e-300)


LAWS = [
    RoundedGaussianNoise(silo_stddev=30.0, num_silos=4),
    DiscreteGaussianNoise(silo_stddev=30.0, num_silos=4),
    SkellamNoise(silo_variance=9000.0, num_silos=4),
]


@pytest.mark.parametrize("noise", LAWS, ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("prob", [1.0, 0.2])
def test_never_below_the_exact_divergence_and_close_to_it(
    noise: DiscreteGaussianNoise | RoundedGaussianNoise | SkellamNoise, prob: float
) -> None:
    """One coordinate, one release: δ of the true integer law at the ε that is claimed for δ = 1e-6."""
    shift = round(math.sqrt(noise.variance))
    sampling = PoissonSampling(prob) if prob < 1 else NoSampling()
    bound = epsilon(Release(noise, shift, 1, sampling), delta=1e-6, accountant=Pld())
    assert isinstance(bound.accountant, Pld)
    p0 = law_of(noise)
    p = (1 - prob) * p0 + prob * np.roll(p0, shift)
    seen = p0 > 1e-250
    for a, b in ((p, p0), (p0, p)):
        true = np.maximum(a - math.exp(bound.epsilon) * b, 0)[seen].sum()
        assert true <= 1e-6
    remove = np.maximum(p - math.exp(bound.epsilon * 0.98) * p0, 0)[seen].sum()
    assert remove > 1e-6


@pytest.mark.parametrize("noise", LAWS, ids=lambda law: type(law).__name__)
def test_two_coordinates_of_an_adaptive_pair_of_releases(
    noise: DiscreteGaussianNoise | RoundedGaussianNoise | SkellamNoise,
) -> None:
    """Two releases, exactly, by convolving the laws of the true losses."""
    shift = round(math.sqrt(noise.variance))
    bound = epsilon(Repeated(Release(noise, shift, 1), 2), delta=1e-5)
    p0 = law_of(noise)
    reach = round(5.5 * math.sqrt(noise.variance))
    middle = slice(4000 - reach, 4000 + reach)
    losses = np.log(np.roll(p0, shift)[middle] / p0[middle])
    weights = np.roll(p0, shift)[middle]
    joint = np.add.outer(losses, losses)
    both = np.outer(weights, weights)
    true = (both * -np.expm1(np.minimum(0, bound.epsilon - joint))).sum()
    assert true <= 1e-5
    lower = (both * -np.expm1(np.minimum(0, bound.epsilon * 0.97 - joint))).sum()
    assert lower > 1e-5


@pytest.mark.parametrize(
    ("noise", "stddev"),
    [
        (RoundedGaussianNoise(2.0**8 / 4, 16), 2.0**8),
        (DiscreteGaussianNoise(2.0**8 / 4, 16), 2.0**8),
        (SkellamNoise(2.0**36 / 16, 16), 2.0**18),
    ],
)
@pytest.mark.parametrize(("prob", "rounds", "ratio"), [(1.0, 10, 2.0), (0.05, 100, 1.0), (1.0, 1, 1.0)])
def test_integers_cost_at_most_one_percent(
    noise: DiscreteGaussianNoise | RoundedGaussianNoise | SkellamNoise,
    stddev: float,
    prob: float,
    rounds: int,
    ratio: float,
) -> None:
    """d·T = 1e7, δ = 1e-5, ε up to 8: the grids that the planner may choose."""
    sampling = PoissonSampling(prob) if prob < 1 else NoSampling()
    dim = 10**7 // rounds
    gauss = epsilon(
        Repeated(Release(GaussianNoise(stddev), stddev / ratio, dim, sampling), rounds), delta=1e-5
    )
    integer = epsilon(Repeated(Release(noise, stddev / ratio, dim, sampling), rounds), delta=1e-5)
    assert gauss.epsilon <= 8.2
    assert gauss.epsilon * (1 - 1e-9) <= integer.epsilon <= gauss.epsilon * 1.01


def test_tiny_silo_noise_counts_one_silo_only() -> None:
    view = gaussian_view(RoundedGaussianNoise(0.4, 9), num_draws=1000, tail=1e-9)
    assert view.stddev == 0.4
    assert view.log_ratio == 0.0
    view = gaussian_view(RoundedGaussianNoise(3.0, 9), num_draws=1000, tail=1e-9)
    assert view.stddev == pytest.approx(9.0)


def test_coarse_skellam_falls_back_and_says_so() -> None:
    bound = epsilon(Release(SkellamNoise(4.0, 1), 2.0, 100), delta=1e-5)
    assert isinstance(bound.accountant, Rdp)
    assert math.isfinite(bound.epsilon)


def test_costs_grow_with_coordinates() -> None:
    few = gaussian_view(SkellamNoise(1e6, 1), 10, 1e-12)
    many = gaussian_view(SkellamNoise(1e6, 1), 10**6, 1e-12)
    assert 2 * few.log_ratio < many.log_ratio
    assert few.stddev > many.stddev
