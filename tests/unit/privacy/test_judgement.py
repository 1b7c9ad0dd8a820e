"""Judgements: numbers of the trade-off curve, levels that never improve with ε or δ, no change of status."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ConfigurationError
from discreet.privacy.adversary import AggregationServer
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.judgement import Level, best_guess, judge
from discreet.privacy.tradeoff import PiecewiseTradeoff
from discreet.privacy.units import NeighboringRelation, Status, Unit

ORDER = list(Level)


def row(epsilon: float, delta: float = 1e-5, **changes: Any) -> Guarantee:
    made = Guarantee(
        epsilon, delta, Unit.RECORD, NeighboringRelation.ADD_REMOVE, AggregationServer(), Status.PROVEN
    )
    return dataclasses.replace(made, **changes)


@given(st.floats(0.0, 30.0), st.floats(0.0, 1.0))
def test_the_best_guess_is_that_of_the_trade_off_curve(epsilon: float, delta: float) -> None:
    # At an even prior it is half of 1 + TPR − FPR on the curve that (ε, δ) implies; δ(0) is exact.
    advantage = PiecewiseTradeoff(((epsilon, delta),)).advantage
    assert best_guess(epsilon, delta) == pytest.approx((1.0 + advantage) / 2.0, rel=1e-9)


def test_randomised_response_reaches_the_best_guess() -> None:
    # It tells the truth with probability e^ε / (1 + e^ε) and is (ε, 0)-DP, so the bound is tight.
    for epsilon in (0.1, 1.0, 3.0):
        assert best_guess(epsilon, 0.0) == pytest.approx(math.exp(epsilon) / (1 + math.exp(epsilon)))


@pytest.mark.parametrize(
    ("epsilon", "level"),
    [
        (0.1, Level.STRONG),
        (0.69, Level.STRONG),
        (0.7, Level.MODERATE),
        (1.0, Level.MODERATE),
        (3.0, Level.WEAK),
        (5.0, Level.VERY_WEAK),
        (10.0, Level.WORTHLESS),
        (100.0, Level.WORTHLESS),
        (1e300, Level.WORTHLESS),
        (math.inf, Level.WORTHLESS),
    ],
)
def test_levels_follow_epsilon(epsilon: float, level: Level) -> None:
    assert judge(row(epsilon), 1_000).level is level


def test_a_usual_setting_reads_fair_and_a_hundred_worthless() -> None:
    fair = str(judge(row(1.0), 1_000))
    assert fair.startswith("moderate: a 50 % guess whether one record was used becomes right at most 73.2 %")
    assert "almost certain" not in fair
    assert "δ = 1e-5 alone could publish one of 1,000 records in 1 % of runs" in fair
    worthless = str(judge(row(100.0), 1_000))
    assert worthless.startswith("worthless: it allows an attacker to be almost certain")
    assert "at most 100 % of the time" in worthless
    assert "almost certain" in str(judge(row(5.0), 1_000))
    assert str(judge(row(math.inf), None)) == "worthless: nothing is promised"


def test_a_delta_of_one_over_the_records_is_worthless_whatever_epsilon_is() -> None:
    found = judge(row(0.1, 1e-3), 1_000)
    assert found.level is Level.WORTHLESS
    assert found.short == "worthless (δ)"
    assert "a mechanism that publishes one of 1,000 records at random would satisfy it" in found.sentence
    assert judge(row(0.1, 9.9e-4), 1_000).level is Level.WEAK, "some record in 99 % of runs"
    assert judge(row(0.1, 1e-5), 1_000).level is Level.STRONG
    assert judge(row(0.1, 1e-5, unit=Unit.CLIENT), 10).level is Level.STRONG
    assert judge(row(0.1, 0.1, unit=Unit.CLIENT), 10).level is Level.WORTHLESS


@pytest.mark.parametrize("delta", [0.5, 0.1, 0.01])
def test_a_delta_of_a_hundredth_is_never_fine(delta: float) -> None:
    assert judge(row(0.1, delta), None).level is Level.WORTHLESS
    for few in (1, 2, 5):
        assert ORDER.index(judge(row(0.1, delta), few).level) >= ORDER.index(Level.WEAK)


def test_without_a_number_of_records_the_reader_is_told_what_delta_needs() -> None:
    unknown = judge(row(1.0), None)
    assert unknown.level is Level.MODERATE
    assert "far below one over the number of records, which is not known here" in unknown.sentence
    assert "with 100,000 of them or more, a mechanism that publishes one at random" in unknown.sentence
    assert "negligible among any number" in judge(row(1.0, 1e-20), None).sentence
    assert "negligible" in judge(row(1.0, 0.0), 1_000).sentence
    with pytest.raises(ConfigurationError, match="at least 1"):
        judge(row(1.0), 0)


@given(st.floats(0.0, 50.0), st.floats(0.0, 1.0), st.floats(0.0, 10.0), st.integers(1, 10**6))
def test_more_epsilon_delta_or_records_never_look_better(
    epsilon: float, delta: float, more: float, units: int
) -> None:
    level = ORDER.index(judge(row(epsilon, delta), units).level)
    assert ORDER.index(judge(row(epsilon + more, delta), units).level) >= level
    assert ORDER.index(judge(row(epsilon, min(1.0, delta + more / 10)), units).level) >= level
    assert ORDER.index(judge(row(epsilon, delta), units + 1000).level) >= level


@pytest.mark.parametrize("unit", list(Unit))
@pytest.mark.parametrize("relation", list(NeighboringRelation))
def test_every_unit_and_relation_has_its_question(unit: Unit, relation: NeighboringRelation) -> None:
    found = judge(row(1.0, unit=unit, neighboring=relation), 100)
    words = {Unit.RECORD: "one record", Unit.PERSON: "one person", Unit.CLIENT: "one silo's data"}
    assert words[unit] in found.sentence
    assert "{" not in found.sentence
    assert "73.2 %" in found.short
