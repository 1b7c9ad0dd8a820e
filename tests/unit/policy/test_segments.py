"""What rounds that differ cost a silo: what the plan costs up to those that it was in, and never less."""

from __future__ import annotations

from collections import Counter
from datetime import date
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from discreet.accounting.odometer import AdaptiveFilter, Composition
from discreet.plan import Plan
from discreet.plan.counted import composition, parts
from discreet.plan.guaranteed import against
from discreet.plan.order import EVALUATION, PREPARATION, Order
from discreet.plan.releases import event_for
from discreet.privacy.ledger import charged_in
from discreet.silo.policy import Account, Charge
from discreet.silo.policy.ledger import SiloLedger
from tests.unit.plan.test_segments import plan
from tests.unit.session.test_evaluated_training import planned as evaluated

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


@pytest.mark.parametrize(
    "order",
    [
        Order(10),
        Order(10, segments=(8, 2)),
        Order(10, every=3, preparing=1),
        Order(3, every=5),
        Order(6, every=1, preparing=1, segments=(4, 2)),
        Order(1, preparing=1),
    ],
    ids=repr,
)
@pytest.mark.parametrize("retries", [1, 2])
def test_room_for_retries_is_for_as_many_of_each_side_and_no_more(order: Order, retries: int) -> None:
    """Whatever is tried again, in any order: rounds of any segment, evaluations, and the preparation once."""
    plan: Any = SimpleNamespace(order=order, releases=order.releases, timetable=None)
    charge = Charge(plan, 1, retries=retries)
    planned, room = order.by_sort(order.releases), charge.order.by_sort(charge.covered)
    assert Charge(plan, 1).covered == order.releases == Charge(plan, 1).order.covering(planned)
    sorts = [sort for sort, count in planned.items() if count]
    assert {sort: room[sort] - planned[sort] for sort in sorts} == {
        sort: 1 if sort == PREPARATION else retries for sort in sorts
    }
    for tried in product(sorts, repeat=2 * retries):
        again = Counter(tried)
        rounds = sum(count for sort, count in again.items() if sort not in (EVALUATION, PREPARATION))
        fits = max(rounds, again[EVALUATION]) <= retries and again[PREPARATION] <= 1
        covered = charge.order.covering(planned + again) <= charge.covered
        # Of segments each has the room, so that more than one may use it.
        assert covered == fits or (covered and order.segments)
        assert not covered or all(planned[sort] + again[sort] <= room[sort] for sort in sorts)


@pytest.mark.parametrize("order", [Order(3), Order(3, every=2), Order(2, every=1, preparing=1)], ids=repr)
def test_what_is_charged_bounds_every_sequence_of_requests(order: Order) -> None:
    """All of them to twice the plan: never more of a sort than the trainings that are charged have of it."""
    plan: Any = SimpleNamespace(order=order, releases=order.releases, timetable=None)
    charge = Charge(plan, 1, retries=1)
    one: Any = SimpleNamespace(epsilon=1.0, delta=0.0)
    charge._known[charge.covered] = one
    room = charge.order.by_sort(charge.covered)
    for asked in product(*(range(2 * count + 1) for count in room.values())):
        counts = Counter(dict(zip(room, asked, strict=True)))
        trainings, _ = charge.added(charge.order.covering(counts) if counts.total() else 0)
        assert all(count <= trainings * room[sort] for sort, count in counts.items())


@pytest.mark.parametrize("every", [None, 1])
@pytest.mark.parametrize("retries", [1, 2, 5])
def test_no_fewer_rounds_and_preparations_are_charged_than_there_is_room_for(
    every: int | None, retries: int
) -> None:
    """A plan's own order, which what is charged is composed in, has no room: it repeats the preparation."""
    order = Order(2, every=every, preparing=1)
    plan: Any = SimpleNamespace(order=order, releases=order.releases, timetable=None)
    charge = Charge(plan, 1, retries=retries)
    for releases in range(charge.covered, 3 * charge.covered):
        alone, charged = Order(2, preparing=1), charge._of_rounds(releases)
        assert alone.round_of(charged) >= charge.order.round_of(releases)
        assert alone.prepared(charged) >= charge.order.prepared(releases)
    if retries <= order.rounds:
        assert charge._of_rounds(charge.covered) == 2 + retries + 2, "and no more"


def test_a_retry_of_a_side_costs_that_side_one_release_more() -> None:
    """What is composed of the most rounds, or of the most evaluations: exactly that, and not their mix."""
    made = evaluated({"every": 3, "epsilon": 7.9})
    charge, (alone, asked) = Charge(made, 1, retries=1), (part for part, _ in parts(made, made.releases))
    assert (made.rounds, made.order.evaluations, charge.covered) == (6, 2, 10)
    sides = [
        against(part, charge.adversary, charge.honest_silos, rounds=count).epsilon
        for part, count in ((alone, 7), (asked, 3))
    ]
    assert sides[1] > sides[0]
    assert charge.whole.epsilon == max(sides) < Charge(made, 1).cost(12).epsilon


def test_room_for_retries_is_charged_from_the_first_release_on(made: Plan) -> None:
    room, more = Charge(made, 1, retries=2), Charge(made, 1).cost(12)
    assert room.whole == room.cost(1) == more != Charge(made, 1).whole
    # Beyond the room begins another training, with room of its own.
    for releases, trainings in ((1, 1), (12, 1), (13, 2), (14, 2), (15, 3)):
        assert room.added(releases) == (trainings * more.epsilon, trainings * more.delta)


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
