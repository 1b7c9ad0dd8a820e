"""The order of releases: what a ledger counts, and what it cannot have counted."""

from __future__ import annotations

from itertools import pairwise, product

import pytest

from discreet.errors import LedgerError
from discreet.plan.order import EVALUATION, PREPARATION, Order


@pytest.mark.parametrize(
    ("order", "contributed", "named"),
    [
        (Order(5), {None: 1, EVALUATION: 2}, "2 of 'evaluation'"),
        (Order(5, every=2), {PREPARATION: 1}, "1 of 'preparation'"),
        (Order(5), {"segment 1": 1}, "1 of 'segment 1'"),
        (Order(5, segments=(2, 3)), {"segment 3": 1}, "1 of 'segment 3'"),
        (Order(5), {"unheard of": 3}, "3 of 'unheard of'"),
    ],
)
def test_a_ledger_of_a_part_that_the_plan_lacks_ends_at_once(
    order: Order, contributed: dict[str | None, int], named: str
) -> None:
    with pytest.raises(LedgerError, match=f"{named}, which this plan has none of. Restore"):
        order.covering(contributed)


def test_a_part_that_nothing_was_contributed_to_need_not_be_there() -> None:
    assert Order(5).covering({None: 2, EVALUATION: 0}) == 2


def test_the_room_has_as_many_of_each_sort_as_it_says_and_counts_only_grow() -> None:
    for rounds, every, preparing, room in product(range(1, 5), (None, 1, 2, 7), (0, 1), (0, 1, 2, 6)):
        order = Order(rounds, every, preparing, room=room)
        counted = [
            (order.round_of(n), order.evaluated(n), order.prepared(n)) for n in range(3 * order.with_room + 1)
        ]
        tried = room if every is not None else 0
        whole = (rounds + room, order.evaluations + tried, preparing * (2 if room else 1))
        assert counted[order.with_room] == whole, order
        assert counted[2 * order.with_room] == tuple(2 * one for one in whole), order
        for place, (before, after) in enumerate(pairwise(counted), 1):
            assert sum(after) == place, order
            assert all(one <= other for one, other in zip(before, after, strict=True)), order
