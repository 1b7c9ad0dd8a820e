import dataclasses
import math

import pytest

from discreet.privacy.adversary import AggregationServer
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.units import NeighboringRelation, Status, Unit
from discreet.report.content import AttackPoint
from discreet.report.wording import does_not_say, epsilon_text, headline, percent, says, status_text

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
    assert epsilon_text(math.inf) == "no limit"


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
    assert does_not_say(unit, measured=True)[:-1] == does_not_say(unit, measured=False)


def test_percent_keeps_three_digits() -> None:
    assert [percent(x) for x in (0.0, 0.00239, 0.155, 1.0)] == ["0 %", "0.239 %", "15.5 %", "100 %"]
