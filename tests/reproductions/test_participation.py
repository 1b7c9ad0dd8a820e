"""van Dijk and Nguyen: A0, A1, groups, schedules; numbers CHECKED in theory, section f-DP."""

import math

import pytest

from discreet.accounting import epsilon
from discreet.accounting.gdp import gaussian_delta, gaussian_epsilon
from discreet.errors import ConfigurationError
from discreet.privacy.events import GaussianNoise, PoissonSampling, Release, Repeated
from discreet.privacy.tradeoff import GaussianTradeoff, PiecewiseTradeoff
from discreet.privacy.units import NeighboringRelation
from participation import (
    MixtureTradeoff,
    Segment,
    deterministic_participation,
    group,
    known_participation,
    random_participation_estimate,
)


@pytest.mark.parametrize(
    ("epochs", "sigma", "expected"),
    [(10, 2.0, (9.165, 7.511, 8.485, 0.830)), (50, 4.0, (9.100, 8.596, 9.110, 0.860))],
)
def test_checked_values(epochs: int, sigma: float, expected: tuple[float, ...]) -> None:
    mixture, exact, estimate, poisson = expected
    segment = Segment(epochs * 60, sigma, 100, 6000)
    assert known_participation([segment]).epsilon(1e-5) == pytest.approx(mixture, abs=5e-4)
    told = gaussian_epsilon(deterministic_participation(epochs, sigma).mu, 1e-5)
    assert told == pytest.approx(exact, abs=5e-4)
    rough = gaussian_epsilon(random_participation_estimate(epochs, sigma).mu, 1e-5)
    assert rough == pytest.approx(estimate, abs=5.1e-4)
    sampled = Repeated(Release(GaussianNoise(sigma), 1.0, 1, sampling=PoissonSampling(1 / 60)), epochs * 60)
    assert epsilon(sampled, delta=1e-5).epsilon == pytest.approx(poisson, abs=5.5e-4)


def test_a0_knows_less_than_a1() -> None:
    segment = Segment(600, 2.0, 100, 6000)
    hidden = epsilon(segment.event, delta=1e-5, neighboring=NeighboringRelation.REPLACE_ONE).epsilon
    assert 0.830 < hidden < 1.0 < known_participation([segment]).epsilon(1e-5)


def test_schedules_split_freely() -> None:
    whole = known_participation([Segment(60, 2.0, 100, 6000)])
    halves = known_participation([Segment(20, 2.0, 100, 6000), Segment(40, 2.0, 100, 6000)])
    for level in (0.1, 1.0, 3.0):
        assert whole.delta(level) == pytest.approx(halves.delta(level), rel=1e-9)
    quieter = known_participation([Segment(20, 4.0, 100, 6000), Segment(40, 2.0, 100, 6000)])
    assert quieter.epsilon(1e-5) < whole.epsilon(1e-5)


def test_mixture_is_the_mean_of_divergences() -> None:
    curve = MixtureTradeoff((0.25, 0.75), (0.5, 1.0))
    direct = 0.25 * gaussian_delta(0.5, 0.7) + 0.75 * gaussian_delta(1.0, 0.7)
    assert curve.delta(0.7) == pytest.approx(direct)
    assert 0.0 < curve.false_negative_rate(0.05) < 0.95


def test_groups_in_different_batches() -> None:
    assert deterministic_participation(10, 2.0, 4).mu == pytest.approx(math.sqrt(40) / 2)


@pytest.mark.parametrize(
    "arguments", [(10, 0.0, 1, 10), (10, 1.0, 11, 10), (-1, 1.0, 1, 10), (10, math.nan, 1, 10)]
)
def test_bad_segments(arguments: tuple[int, float, int, int]) -> None:
    with pytest.raises(ConfigurationError):
        Segment(*arguments)


def test_groups() -> None:
    expected = GaussianTradeoff(2.0).false_negative_rate(0.05)
    assert group(GaussianTradeoff(0.5), 4, 0.05) == pytest.approx(expected, abs=1e-9)
    # ε-DP for a group of 2 is 2ε-DP.
    pure, doubled = PiecewiseTradeoff(((0.5, 0.0),)), PiecewiseTradeoff(((1.0, 0.0),))
    assert group(pure, 2, 0.01) >= doubled.false_negative_rate(0.01) - 1e-12
    with pytest.raises(ConfigurationError, match="size of a group"):
        group(pure, 0, 0.1)
