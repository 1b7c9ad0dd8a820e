"""Calibration: certified, bracketed, and equal to the reference library's."""

import math
from typing import Any, cast

import pytest

from discreet.accounting import Rdp, calibrate, epsilon
from discreet.errors import ConfigurationError
from discreet.privacy.events import GaussianNoise, PoissonSampling, Release, Repeated, SkellamNoise


def sampled(stddev: float, prob: float = 0.01, count: int = 1000) -> Repeated:
    return Repeated(Release(GaussianNoise(stddev), 1.0, 1, PoissonSampling(prob)), count)


def test_reference_value() -> None:
    # dp-accounting 0.6.0, its own calibration by PLD: 0.813685.
    found = calibrate(sampled, epsilon=3.0, delta=1e-5, lower=0.01, upper=100.0)
    assert found == pytest.approx(0.813685, rel=1e-3)
    assert epsilon(sampled(found), delta=1e-5).epsilon <= 3.0
    assert epsilon(sampled(found * (1 - 2e-4)), delta=1e-5).epsilon > 3.0


@pytest.mark.parametrize("target", [0.1, 1.0, 8.0, 50.0])
def test_any_target_is_met_and_not_by_far(target: float) -> None:
    def make(z: float) -> Release:
        return Release(GaussianNoise(z), 1.0, 1)

    found = calibrate(make, epsilon=target, delta=1e-5, lower=1e-3, upper=1e4)
    assert target * (1 - 5e-4) <= epsilon(make(found), delta=1e-5).epsilon <= target


def test_rdp_needs_more_noise() -> None:
    found = calibrate(sampled, epsilon=3.0, delta=1e-5, lower=0.01, upper=100.0, accountant=Rdp())
    # dp-accounting 0.6.0, RDP: 0.864608.
    assert found == pytest.approx(0.864608, rel=2e-3)


def test_integer_noise() -> None:
    def make(z: float) -> Repeated:
        return Repeated(Release(SkellamNoise((1000 * z) ** 2 / 16, 16), 1000.0, 10**5), 10)

    found = calibrate(make, epsilon=2.0, delta=1e-5, lower=0.1, upper=100.0)
    assert epsilon(make(found), delta=1e-5).epsilon <= 2.0


def test_lower_end_that_already_suffices() -> None:
    assert calibrate(sampled, epsilon=3.0, delta=1e-5, lower=5.0, upper=100.0) == 5.0


def test_out_of_reach_is_said() -> None:
    with pytest.raises(ConfigurationError, match="upper end"):
        calibrate(sampled, epsilon=0.01, delta=1e-5, lower=0.01, upper=1.0)


@pytest.mark.parametrize(
    "bad", [{"lower": 0.0}, {"upper": 0.001}, {"epsilon": 0.0}, {"delta": 0.0}, {"epsilon": math.nan}]
)
def test_bad_requests(bad: dict[str, float]) -> None:
    request = {"epsilon": 1.0, "delta": 1e-5, "lower": 0.01, "upper": 10.0} | bad
    with pytest.raises(ConfigurationError):
        calibrate(sampled, **cast(Any, request))
