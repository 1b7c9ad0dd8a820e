"""What rounds that differ cost a silo: what the plan costs up to those that it was in, and never less."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from discreet.accounting.odometer import AdaptiveFilter, Composition
from discreet.plan import Plan
from discreet.plan.counted import composition
from discreet.plan.order import EVALUATION, PREPARATION
from discreet.plan.releases import event_for
from discreet.privacy.ledger import charged_in
from discreet.silo.policy import Account, Charge
from discreet.silo.policy.ledger import SiloLedger
from tests.unit.plan.test_segments import plan

DAY = date(2026, 3, 1)


@pytest.fixture(scope="module")
def made() -> Plan:
    """Eight quiet rounds, and two that cost four times as much each."""
    return plan([{"rounds": 8}, {"rounds": 2, "noise_scale": 0.5}])


def test_whoever_was_in_a_round_is_charged_for_its_segment(made: Plan) -> None:
    first, second = made.order.sort_of(1), made.order.sort_of(9)
    assert (first, made.order.sort_of(8), second, made.order.sort_of(10)) == (
        "segment 1",
        first,
        "segment 2",
        second,
    )
    assert made.order.covering({first: 3}) == 3
    assert made.order.covering({second: 1}) == made.order.covering({first: 8, second: 1}) == 9
    # A round that was tried three times; the server is not believed that two of them came to nothing.
    assert made.order.covering({first: 1, second: 3}) == 11
    assert composition(made, 11) == ((made.stages[0].release, 9), (made.stages[1].release, 3))
    charge = Charge(made, 1)
    whole = charge.cost(10)
    assert charge.cost(11).epsilon > whole.epsilon == charge.cost(9).epsilon == charge.cost(1).epsilon
    # Three releases beyond the plan may be of the second segment all, which two trainings more would have.
    assert charge.added(0) == (0.0, 0.0)
    for releases, trainings in ((1, 1), (10, 1), (11, 2), (12, 2), (13, 3)):
        assert charge.added(releases) == (trainings * whole.epsilon, trainings * whole.delta)


@pytest.mark.parametrize("composition", [Composition.GAUSSIAN, Composition.RENYI])
def test_a_filter_adds_up_each_rounds_share(made: Plan, composition: Composition) -> None:
    empty, charge = AdaptiveFilter(8.0, 1e-4, composition=composition), Charge(made, 1)
    one, eight, nine, ten = (charge.of_filter(empty, count).divergence for count in (1, 8, 9, 10))
    assert eight == pytest.approx(8.0 * one)
    assert nine - eight == pytest.approx(ten - nine) == pytest.approx(4.0 * one, rel=0.02)
    last = event_for(made.stages[1].release, honest_silos=charge.honest_silos, rounds=2)
    assert ten - eight == pytest.approx(empty.cost(last).divergence, rel=1e-6)


def test_a_ledger_keeps_the_segment_of_each_contribution(tmp_path: Path) -> None:
    ledger = SiloLedger.open(tmp_path / "ledger.jsonl")
    ledger.join("a" * 64, seeded=False)
    for name in ("segment 1", "segment 2", "segment 2"):
        ledger.contribute("a" * 64, "m", DAY, part=name)
        ledger.settle("a" * 64, believe_abort=False)
    ledger.close()
    again = SiloLedger.open(tmp_path / "ledger.jsonl")
    assert charged_in(again.writer.entries) == {"segment 1": 1, "segment 2": 2}
    again.close()


def test_a_year_is_forecast_from_what_is_left_of_each_segment(made: Plan) -> None:
    """All quiet rounds were last year: those of this year are the dear ones."""
    first, second, charge, digest = (
        made.order.sort_of(1),
        made.order.sort_of(9),
        Charge(made, 1),
        made.digest(),
    )
    assert made.order.by_sort(10) == {first: 8, second: 2, EVALUATION: 0, PREPARATION: 0}
    assert made.order.by_sort(29) == {first: 24, second: 5, EVALUATION: 0, PREPARATION: 0}
    account = Account({digest: (charge, 8)}, by_sort={digest: ({first: 8}, {})})
    forecast = account.including(charge, 10).of_year[digest]
    assert forecast == made.order.covering({second: 2}) == 10
    # One of them was this year; once more from the beginning, both segments are.
    begun = Account(
        {digest: (charge, 9)}, {digest: 9}, by_sort={digest: ({first: 8, second: 1}, {second: 1})}
    )
    assert begun.including(charge, 10).of_year[digest] == forecast
    assert begun.including(charge, 20).of_year[digest] == made.order.covering({first: 8, second: 4})
    assert account.without(digest).including(charge, 10).of_year[digest] == 10


def test_a_retry_after_new_year_is_charged_to_the_new_year(tmp_path: Path) -> None:
    """The attempt before was last year's, so that taking it back leaves no room in this one."""
    digest, second = "a" * 64, "segment 2"
    ledger = SiloLedger.open(tmp_path / "ledger.jsonl")
    assert ledger.charged_next(digest, second) == {second: 1}
    ledger.join(digest, seeded=False)
    ledger.contribute(digest, "m", date(2025, 12, 31), part=second)
    assert ledger.charged_next(digest, second) == {second: 2}
    for year in (None, 2025, 2026):
        assert ledger.charged_next(digest, second, year=year, forgiven=True) == {second: 1}
    ledger.settle(digest, believe_abort=True)
    ledger.contribute(digest, "m", date(2026, 1, 1), part=second)
    assert ledger.charged(2026) == {digest: {second: 1}}
    ledger.close()
