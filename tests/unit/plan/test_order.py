"""The order of releases: what a ledger counts, and what it cannot have counted."""

from __future__ import annotations

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
