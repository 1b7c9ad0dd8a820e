import dataclasses
import math
from typing import Any

import pytest

from discreet.privacy.adversary import AggregationServer
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.units import NeighboringRelation, Status, Unit
from discreet.report.content import AttackPoint
from discreet.report.wording import does_not_say, headline, percent, says, status_text

RECORD = Guarantee(2.0, 1e-6, Unit.RECORD, NeighboringRelation.ADD_REMOVE, AggregationServer(), Status.PROVEN)


def test_the_headline_quotes_the_bound_and_guessing() -> None:
    text = headline(RECORD, AttackPoint(0.01, 0.03449))
    assert "at most 1 % of the time" in text
    assert "at most 3.45 % of the time" in text
    assert "Blind guessing reaches 1 %" in text
    assert "the aggregation server" in text
    assert "one record" in text


def test_nothing_finite_is_said_plainly() -> None:
    vacuous = dataclasses.replace(RECORD, epsilon=math.inf)
    assert headline(vacuous, None).startswith("Nothing finite is promised about one record")
    assert "e^ε = ∞" in says(vacuous)[0]


def test_the_factor_is_e_to_the_epsilon() -> None:
    assert "e^ε = 7.39" in says(RECORD)[0]
    assert "δ = 1e-6" in says(RECORD)[0]


@pytest.mark.parametrize("unit", list(Unit))
@pytest.mark.parametrize("relation", list(NeighboringRelation))
@pytest.mark.parametrize("status", list(Status))
def test_every_kind_of_guarantee_has_words(unit: Unit, relation: NeighboringRelation, status: Status) -> None:
    row = dataclasses.replace(
        RECORD, unit=unit, neighboring=relation, status=status, assumptions=("something",)
    )
    assert all(says(row))
    assert status_text(row).startswith(status.value)
    assert does_not_say(row, measured=True)[:-1] == does_not_say(row, measured=False)


def test_a_large_factor_is_written_short_and_rounded_up() -> None:
    def factor(epsilon: float) -> str:
        return says(dataclasses.replace(RECORD, epsilon=epsilon))[0]

    assert "e^ε = 2.69 · 10^43," in factor(100.0)  # e^100 = 2.6881…·10^43
    assert "e^ε = 1.01 · 10^217," in factor(499.668), "e^499.668 = 1.0056…·10^217"
    assert "e^ε = ∞" in factor(1e300)


def test_what_the_attacker_does_not_know_is_named() -> None:
    text = " ".join(says(RECORD))
    assert "other than the noise, the coins and the keys of honest silos" in text
    assert "whatever else the attacker knows or will learn," in text
    text = " ".join(does_not_say(RECORD, measured=False))
    assert "Participants know their own noise and can subtract it" in text
    assert "PROVEN is not good" in text


def test_attempts_are_told_apart_from_releases() -> None:
    assert "it counts where a silo's own message is what is seen" in " ".join(says(RECORD))


def test_several_records_are_bounded_and_public_numbers_are_not_promised() -> None:
    def told(**changes: Any) -> str:
        return " ".join(does_not_say(dataclasses.replace(RECORD, **changes), measured=False))

    assert "for k records ε is at most k times as large, and δ at most k·e^((k−1)ε) times" in told()
    assert "for k silos ε is at most k times" in told(unit=Unit.CLIENT)
    assert "how many records" not in told()
    assert "how many records a silo has" in told(neighboring=NeighboringRelation.REPLACE_ONE)
    assert "It does not hide who took part" in told(neighboring=NeighboringRelation.REPLACE_SPECIAL)


def test_the_question_follows_the_relation() -> None:
    exchanged = dataclasses.replace(RECORD, neighboring=NeighboringRelation.REPLACE_ONE)
    assert "which of two candidates one record was" in headline(exchanged, AttackPoint(0.01, 0.03))


def test_percent_keeps_three_digits() -> None:
    assert [percent(x) for x in (0.0, 0.00239, 0.155, 1.0)] == ["0 %", "0.239 %", "15.5 %", "100 %"]
