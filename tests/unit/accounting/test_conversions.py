"""Sound conversions between forms, and the order of their results."""

import math

import pytest

from discreet.accounting.conversions import (
    gdp_to_zcdp,
    pure_to_zcdp,
    tcdp_to_rdp,
    to_tradeoff,
    zcdp_epsilon,
    zcdp_to_rdp,
)
from discreet.accounting.gdp import gaussian_epsilon
from discreet.accounting.pld import GaussianCurve
from discreet.errors import ConfigurationError


def test_gaussian_through_zcdp_is_above_the_truth():
    assert gdp_to_zcdp(1.0) == 0.5
    found = zcdp_epsilon(gdp_to_zcdp(1.0), 1e-5)
    assert gaussian_epsilon(1.0, 1e-5) < found
    # ρ + 2√(ρ log 1/δ): Bun, Steinke (2016), Proposition 1.3, is looser.
    assert found < 0.5 + 2 * math.sqrt(0.5 * math.log(1e5))


def test_pure_to_zcdp():
    assert pure_to_zcdp(0.2) == pytest.approx(0.02)


def test_tcdp_stops_at_omega():
    whole, cut = zcdp_to_rdp(0.1, (2.0, 8.0, 32.0)), tcdp_to_rdp(0.1, 16.0, (2.0, 8.0, 32.0))
    assert list(whole.values) == pytest.approx([0.2, 0.8, 3.2])
    assert cut.values[2] == math.inf
    assert cut.epsilon_at(1e-9) >= whole.epsilon_at(1e-9)


def test_tradeoff_from_a_curve_is_below_the_exact_one():
    curve = to_tradeoff(GaussianCurve(1.0), [k / 20 for k in range(100)])
    from discreet.accounting.gdp import gaussian_tradeoff

    for rate in (0.001, 0.05, 0.3, 0.7):
        assert gaussian_tradeoff(1.0, rate) - 2e-3 <= curve.false_negative_rate(rate)
        assert curve.false_negative_rate(rate) <= gaussian_tradeoff(1.0, rate) + 1e-12


@pytest.mark.parametrize("bad", [-0.1, math.nan])
def test_bad_values(bad):
    for convert in (pure_to_zcdp, gdp_to_zcdp, zcdp_to_rdp):
        with pytest.raises(ConfigurationError):
            convert(bad)
    with pytest.raises(ConfigurationError):
        tcdp_to_rdp(0.1, bad)
    with pytest.raises(ConfigurationError):
        zcdp_epsilon(bad, 1e-5)
