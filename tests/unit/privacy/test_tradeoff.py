"""Trade-off curves as values: Dong, Roth, Su (2022)."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ConfigurationError
from discreet.privacy.tradeoff import GaussianTradeoff, PiecewiseTradeoff


def test_gaussian_forms_agree() -> None:
    curve = GaussianTradeoff(1.0)
    # f(α) = sup_ε {1 − δ(ε) − e^ε α}, over positive and negative ε.
    for rate in (0.01, 0.2, 0.6):
        dual = max(1 - curve.delta(k / 100) - math.exp(k / 100) * rate for k in range(-600, 600))
        assert curve.false_negative_rate(rate) == pytest.approx(dual, abs=1e-5)
    assert curve.advantage == pytest.approx(0.382925, abs=1e-6)


@settings(deadline=None)
@given(st.floats(0.0, 5.0), st.floats(0.0, 1.0))
def test_gaussian_is_below_chance_and_its_own_inverse(mu: float, rate: float) -> None:
    curve = GaussianTradeoff(mu)
    value = curve.false_negative_rate(rate)
    assert 0.0 <= value <= 1.0 - rate + 1e-12
    if 1e-6 < value < 1 - 1e-6:
        assert curve.false_negative_rate(value) == pytest.approx(rate, abs=1e-6)


def test_one_statement_is_the_known_curve() -> None:
    # The maximum of both lines and zero (the chapter prints min, a misprint).
    curve = PiecewiseTradeoff(((1.0, 0.1),))
    assert curve.false_negative_rate(0.0) == pytest.approx(0.9)
    assert curve.false_negative_rate(0.9) == 0.0
    assert curve.false_negative_rate(0.5) == pytest.approx(math.exp(-1) * 0.4)


def test_implied_delta() -> None:
    curve = PiecewiseTradeoff(((1.0, 0.1), (2.0, 0.01)))
    # At 0: (e − 1 + 2·0.1)/(e + 1), the known conversion of (ε, δ) to total variation.
    assert curve.delta(0.0) == pytest.approx((math.e - 1 + 0.2) / (math.e + 1))
    assert curve.delta(1.0) == pytest.approx(0.1)
    assert 0.01 < curve.delta(1.5) < 0.1
    assert curve.delta(3.0) == 0.01


@settings(deadline=None)
@given(st.floats(0.0, 2.0))
def test_chords_of_a_true_curve_are_above_it(level: float) -> None:
    true = GaussianTradeoff(1.0)
    points = tuple((k / 4, true.delta(k / 4)) for k in range(2, 10))
    assert PiecewiseTradeoff(points).delta(level) >= true.delta(level) - 1e-12


@pytest.mark.parametrize(
    "points", [(), ((-1.0, 0.1),), ((1.0, 1.5),), ((1.0, 0.1), (0.5, 0.2)), ((math.nan, 0.0),)]
)
def test_bad_points(points: tuple[Any, ...]) -> None:
    with pytest.raises(ConfigurationError):
        PiecewiseTradeoff(points)


def test_bad_arguments() -> None:
    curve = GaussianTradeoff(1.0)
    for call in (
        lambda: GaussianTradeoff(math.nan),
        lambda: curve.false_negative_rate(1.1),
    ):
        with pytest.raises(ConfigurationError):
            call()
