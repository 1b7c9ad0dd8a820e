"""Liang, Wang, Gu, Osher, Yao: the closed forms, their conditions, and how loose they are."""

import math

import pytest

from closed_forms import POISSON, UNIFORM, ClosedForm, Federation, closed_form_stddev
from discreet.accounting import epsilon
from discreet.errors import ConfigurationError, UnsupportedAnalysisError
from discreet.privacy.events import GaussianNoise, PoissonSampling, Release, Repeated

FEDERATION = Federation(sampling_prob=0.05, rounds=30, update_norm=0.3, delta=1000**-1.1)


@pytest.mark.parametrize(
    ("requested", "uniform", "poisson", "doubled", "single"),
    [
        (6.0, 0.808, 0.777, 0.808, 0.272),
        (7.0, 0.664, 0.644, 1.183, 0.354),
        (8.0, 0.582, 0.566, 1.583, 0.429),
        (9.0, 0.526, 0.512, 2.014, 0.501),
    ],
)
def test_published_setting(
    requested: float, uniform: float, poisson: float, doubled: float, single: float
) -> None:
    assert closed_form_stddev(UNIFORM, FEDERATION, requested) == pytest.approx(uniform, abs=6e-4)
    stddev = closed_form_stddev(POISSON, FEDERATION, requested)
    assert stddev == pytest.approx(poisson, abs=6e-4)
    for sensitivity, true in ((0.6, doubled), (0.3, single)):
        event = Repeated(Release(GaussianNoise(stddev), sensitivity, 1, PoissonSampling(0.05)), 30)
        cost = epsilon(event, delta=FEDERATION.delta).epsilon
        assert cost == pytest.approx(true, abs=2e-3)
        assert cost < requested


def test_conditions_are_checked() -> None:
    stddev = closed_form_stddev(UNIFORM, FEDERATION, 9.0)
    assert stddev**2 / (4 * 0.3**2) >= UNIFORM.min_ratio
    with pytest.raises(UnsupportedAnalysisError, match="Rényi order"):
        closed_form_stddev(UNIFORM, Federation(1.0, 30, 0.3, 1e-5), 6.0)
    strict = ClosedForm(14.0, 2.0)
    assert closed_form_stddev(strict, FEDERATION, 6.0) == pytest.approx(0.6 * math.sqrt(2.0))


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan])
def test_bad_epsilon(bad: float) -> None:
    with pytest.raises(ConfigurationError):
        closed_form_stddev(POISSON, FEDERATION, bad)


def test_bad_federation() -> None:
    with pytest.raises(ConfigurationError):
        Federation(math.nan, 30, 0.3, 1e-5)
