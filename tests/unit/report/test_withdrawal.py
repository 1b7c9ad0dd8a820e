"""A board reads what happens when somebody withdraws, in the numbers of the plan."""

from __future__ import annotations

import dataclasses
import math

import pytest

from discreet.privacy.units import Unit
from discreet.report import ReportInput
from discreet.report.nist import nist_table
from discreet.report.withdrawal import again, withdrawal
from tests.unit.report.test_page import visible


def protecting(report: ReportInput, unit: Unit) -> ReportInput:
    """The same report about another unit."""
    return dataclasses.replace(report, budget=dataclasses.replace(report.budget, unit=unit))


def test_what_stays_and_what_it_costs_again_are_the_plans_own_numbers(report: ReportInput) -> None:
    text = visible(report)
    assert "If somebody whose record was used withdraws" in text
    assert "changes how likely it is by no more than ε 0.988, δ 1e-5 says, against the server and" in text
    assert "costs each of them ε 0.988, δ 1e-5 once more, ε 1.976, δ 2e-5 in all" in text, "0.98765 twice"
    assert "There is nothing to delete beyond that" in text


def test_silos_that_differ_pay_as_their_own_rows_say(report: ReportInput) -> None:
    def with_rows(*epsilons: float) -> str:
        rows = [
            dataclasses.replace(report.budget, silo=silo, epsilon=epsilon)
            for silo, epsilon in zip("ac", epsilons, strict=True)
        ]
        return again(dataclasses.replace(report, guarantees=(*report.guarantees, *rows)))

    text = with_rows(0.98765, 0.3)
    assert "each of them at most ε 0.988, δ 1e-5 once more, and as the row of its silo says" in text
    assert "at most" not in with_rows(0.98765, 0.98765)


@pytest.mark.parametrize(
    ("unit", "who", "stays", "what_to_do"),
    [
        (Unit.RECORD, "somebody whose record was used", "every record that stays", "removes the records"),
        (Unit.PERSON, "a person whose records were used", "everybody who stays", "removes the records"),
        (Unit.CLIENT, "a silo that took part", "every silo that stays", "ends its part"),
    ],
)
def test_it_speaks_of_the_unit_that_the_plan_protects(
    report: ReportInput, unit: Unit, who: str, stays: str, what_to_do: str
) -> None:
    text = withdrawal(protecting(report, unit))
    assert f"If {who} withdraws" in text
    assert f"a new release about {stays}" in text
    assert what_to_do in text
    assert ("several records" in text) == (unit is Unit.RECORD)


@pytest.mark.parametrize("unit", list(Unit))
def test_where_nothing_is_promised_more_must_be_deleted(report: ReportInput, unit: Unit) -> None:
    report = protecting(report, unit)
    nothing = dataclasses.replace(report, budget=dataclasses.replace(report.budget, epsilon=math.inf))
    for exposed in (nothing, dataclasses.replace(report, seeded=True)):
        text = withdrawal(exposed)
        assert "Only deleting every copy" in text
        assert "There is nothing to delete" not in text
    assert "∞" not in withdrawal(nothing)


def test_measurements_are_named_where_there_are_any(report: ReportInput) -> None:
    assert "not covered by ε" in withdrawal(report)
    without = tuple(dataclasses.replace(one, training_loss=None) for one in report.completed)
    unmeasured = dataclasses.replace(report, final=None, outcomes=without)
    assert "not covered by ε" not in withdrawal(unmeasured)
    assert "not covered by ε" in withdrawal(dataclasses.replace(unmeasured, outcomes=report.outcomes))


def test_the_questions_of_nist_have_a_row_for_it(report: ReportInput) -> None:
    (row,) = [line for line in nist_table(report).splitlines() if "somebody withdraws" in line]
    assert "ε 0.988, δ 1e-5" in row
    assert "ε 1.976, δ 2e-5 in all" in row
    assert "request for erasure" in row
