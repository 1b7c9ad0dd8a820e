"""Printed bounds stay bounds: what is written reads back as no less than what was meant."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ConfigurationError
from discreet.privacy.adversary import AggregationServer
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.notation import delta_is, delta_text, epsilon_text, pair_text, percent_at_most
from discreet.privacy.units import NeighboringRelation, Status, Unit

epsilons = st.floats(0.0, exclude_min=True, allow_infinity=False)
deltas = st.floats(0.0, 1.0)


def test_values_that_rounding_to_nearest_made_too_small() -> None:
    assert [epsilon_text(x) for x in (3.909000129, 5.001185, 1.4651, 0.9999)] == [
        "3.910", "5.002", "1.466", "1.000",
    ]  # fmt: skip
    assert delta_text(1.0001e-5) == "1.01e-5"
    assert delta_text(0.99951) == "1"


@given(epsilons)
def test_epsilon_is_rounded_up_and_by_little(epsilon: float) -> None:
    written = epsilon_text(epsilon)
    assert float(written) >= epsilon
    assert float(written) <= max(epsilon * 1.011, epsilon + (0.001 if epsilon >= 0.01 else 0.0))
    assert float(epsilon_text(epsilon, down=True)) <= epsilon


@given(deltas)
def test_delta_is_rounded_up_and_never_zero(delta: float) -> None:
    written = delta_text(delta)
    if delta < 1e-300:
        assert written == "< 1e-300"
    else:
        assert delta <= float(written) <= min(1.0, delta * 1.011)
    assert float(delta_text(delta, down=True)) <= delta


@given(st.floats(0.0, 1.0))
def test_a_share_is_rounded_up(share: float) -> None:
    assert float(percent_at_most(share).removesuffix(" %")) >= 100.0 * share * (1 - 1e-15)


def test_small_and_special_values() -> None:
    assert epsilon_text(0.0) == "0"
    assert epsilon_text(math.inf) == "no limit"
    assert epsilon_text(0.009991) == "0.0100"
    assert epsilon_text(1.23456e-9) == "1.24e-9"
    assert epsilon_text(1e30) == "1e30"
    assert [delta_text(x) for x in (1e-5, 1e-4, 0.25, 1.0, 2.5e-12)] == [
        "1e-5", "0.0001", "0.25", "1", "2.5e-12",
    ]  # fmt: skip
    assert pair_text(0.0, 0.0) == "nothing"
    assert pair_text(0.5, 0.0) == "ε 0.500, δ < 1e-300"
    assert (delta_is(1e-6), delta_is(5e-324)) == ("δ = 1e-6", "δ < 1e-300")


@pytest.mark.parametrize("value", [-1.0, math.nan])
def test_what_is_no_bound_is_refused(value: float) -> None:
    with pytest.raises(ConfigurationError, match="must be >= 0"):
        epsilon_text(value)
    with pytest.raises(ConfigurationError, match="must be >= 0"):
        delta_text(value)


def test_a_guarantee_is_written_rounded_up() -> None:
    row = Guarantee(
        5.00118, 9.6e-310, Unit.RECORD, NeighboringRelation.ADD_REMOVE, AggregationServer(), Status.PROVEN
    )
    assert str(row).startswith("(5.002, < 1e-300)-DP per record, add-remove, against")
