"""What integer noise costs grows with all coordinates of all releases, in both kinds of accounting."""

import math

import numpy as np
import pytest

from discreet.accounting import Rdp, epsilon
from discreet.accounting.lattice import discrete_sum_ratio
from discreet.accounting.losses import loss_parts
from discreet.accounting.renyi import skellam_log_moment
from discreet.errors import UnsupportedAnalysisError
from discreet.privacy.events import (
    DiscreteGaussianNoise,
    GaussianNoise,
    PoissonSampling,
    Release,
    Repeated,
    SkellamNoise,
)
from discreet.privacy.units import NeighboringRelation

ADD = NeighboringRelation.ADD_REMOVE


def skellam(dim: int) -> Release:
    return Release(SkellamNoise(1e8, 1), 1e4, dim)


def test_coordinates_times_releases() -> None:
    once = loss_parts([(skellam(1000), 1)], ADD, 1e-12)
    often = loss_parts([(skellam(10), 100)], ADD, 1e-12)
    assert once.log_ratio == often.log_ratio
    assert once.log_ratio > 1.5 * loss_parts([(skellam(10), 1)], ADD, 1e-12).log_ratio
    assert often.square == pytest.approx(100 * once.square, rel=1e-6)


@pytest.mark.parametrize(("dim", "count"), [(100_000, 1), (1000, 100)])
def test_summed_discrete_gaussians_under_renyi(dim: int, count: int) -> None:
    noise = DiscreteGaussianNoise(1.4, 4)
    event = Repeated(Release(noise, 0.28, dim), count)
    same = Repeated(Release(GaussianNoise(2.8), 0.28, 1), count)
    whole = Rdp(orders=tuple(float(a) for a in range(2, 200)))
    cost = dim * count * discrete_sum_ratio(1.4**2, 4)
    assert 1e-3 < cost < 1e-2
    exact = epsilon(same, delta=1e-5 * math.exp(-cost), accountant=whole).epsilon
    assert epsilon(event, delta=1e-5, accountant=whole).epsilon == pytest.approx(exact + 2 * cost, rel=1e-9)


def test_published_skellam_bound_term_by_term() -> None:
    # Agarwal, Kairouz, Liu (2021), Theorem 3.5, at α = 3: μ = 5000, Δ₂ = 50, Δ₁ = √4 · 50 for d = 4.
    mu, square, l1 = 5000.0, 2500.0, 100.0
    expected = 3 * square / (2 * mu) + min((5 * square + 6 * l1) / (4 * mu**2), 3 * l1 / (2 * mu))
    assert skellam_log_moment(mu, 50.0, 4)(np.arange(4.0))[3] == pytest.approx(2 * expected, rel=1e-12)
    # The other branch of the minimum, and Δ₁ ≤ Δ₂² for integer vectors.
    mu, square = 1.0, 17.0**2
    expected = 3 * square / (2 * mu) + min((5 * square + 6 * square) / (4 * mu**2), 3 * square / (2 * mu))
    assert skellam_log_moment(mu, 17.0, 10**9)(np.arange(4.0))[3] == pytest.approx(2 * expected, rel=1e-12)


def test_refusals_name_the_knob() -> None:
    with pytest.raises(UnsupportedAnalysisError, match="Raise the scale"):
        loss_parts([(Release(SkellamNoise(10.0, 1), 1.0, 10), 1)], ADD, 1e-12)
    with pytest.raises(UnsupportedAnalysisError, match="Raise the noise"):
        loss_parts([(Release(GaussianNoise(0.01), 1.0, 1, PoissonSampling(0.1)), 1)], ADD, 1e-12)
