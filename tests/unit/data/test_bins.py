"""Numbers in public bins: one indicator each, by a rule that reads one row at a time."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.data import PublicFacts, table_columns
from discreet.data.bins import Bins, cuts_of
from discreet.data.table import Table
from discreet.errors import DataError


def column(*cells: str) -> Table:
    return Table("rows", {"age": cells}, np.arange(len(cells)))


def test_a_number_is_one_indicator_and_a_bin_holds_its_lower_edge() -> None:
    bins = Bins("age", 0.0, 10.0, (2.0, 5.0))
    features, found = bins.encode(column("0", "1.9", "2", "4.9", "5", "10", "-3", "99", "", "old"))
    assert features.argmax(axis=1).tolist()[:8] == [0, 0, 1, 1, 2, 2, 0, 2]
    assert features.sum(axis=1).tolist() == [1.0] * 8 + [0.0] * 2
    assert (found.unread, found.blank, found.outside) == (2, 1, 2)
    assert bins.names == ("age 0 to 2", "age 2 to 5", "age 5 to 10")


def test_a_missing_number_has_its_own_bin_where_stated_and_blanks_are_then_expected() -> None:
    bins = Bins("age", 0.0, 10.0, (5.0,), missing=True)
    features, found = bins.encode(column("1", "", "old", "inf"))
    assert features.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 1]]
    assert (found.unread, found.blank) == (2, 0)
    assert bins.names[-1] == "age missing"


def test_the_owner_is_told_what_has_no_bin() -> None:
    bins = Bins("age", 0.0, 10.0, (5.0,))
    _, found = bins.encode(column("", "11"))
    unread, clipped = bins.notes("rows", 2, found)
    assert "have no bin" in unread
    assert "outside [0, 10]" in clipped


def test_edges_are_of_equal_width_or_stated_and_ends_of_the_range_count_once() -> None:
    assert cuts_of(0.0, 10.0, 4) == (2.5, 5.0, 7.5)
    assert cuts_of(0.0, 60.0, (0.0, 20.0, 35.0, 60.0)) == (20.0, 35.0)


def test_all_that_is_wrong_with_bins_is_said_at_once() -> None:
    facts = PublicFacts(
        label="ill",
        ranges={"age": (0.0, 10.0), "weight": (0.0, 10.0)},
        bins={"age": (3.0, 2.0), "weight": (12.0,), "height": 4},
    )
    with pytest.raises(DataError) as caught:
        table_columns(facts)
    said = str(caught.value)
    assert all(part in said for part in ("'height' has no range", "'age': edges must increase", "'weight'"))


@pytest.mark.parametrize("stated", [(0.0, 10.0), (0.0,)])
def test_a_column_has_two_bins_at_least(stated: tuple[float, ...]) -> None:
    with pytest.raises(DataError, match="two bins"):
        table_columns(PublicFacts(label="ill", ranges={"age": (0.0, 10.0)}, bins={"age": stated}))
