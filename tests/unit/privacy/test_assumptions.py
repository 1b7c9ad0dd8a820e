import dataclasses

from discreet.privacy.adversary import AggregationServer
from discreet.privacy.assumptions import named, numbered
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.units import NeighboringRelation, Status, Unit

BARE = Guarantee(1.0, 1e-5, Unit.RECORD, NeighboringRelation.ADD_REMOVE, AggregationServer(), Status.PROVEN)


def assuming(texts: str) -> Guarantee:
    return dataclasses.replace(BARE, assumptions=tuple(texts))


def test_each_assumption_has_one_number_in_order_of_appearance() -> None:
    rows = [assuming("ab"), BARE, assuming("cbd")]
    assert numbered(rows) == {"a": 1, "b": 2, "c": 3, "d": 4}
    assert numbered([BARE]) == {}


def test_neighbours_are_joined() -> None:
    numbers = numbered([assuming("abcdefg")])
    assert [named(assuming(text), numbers) for text in ("", "a", "ab", "cab", "gfac", "bdf")] == [
        "none", "A1", "A1–A2", "A1–A3", "A1, A3, A6–A7", "A2, A4, A6",
    ]  # fmt: skip
