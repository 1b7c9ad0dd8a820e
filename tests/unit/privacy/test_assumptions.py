import dataclasses

from discreet.privacy import assumptions
from discreet.privacy.adversary import AggregationServer
from discreet.privacy.assumptions import named, numbered
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.units import NeighboringRelation, Status, Unit

BARE = Guarantee(1.0, 1e-5, Unit.RECORD, NeighboringRelation.ADD_REMOVE, AggregationServer(), Status.PROVEN)
NOBODY, ONE = "no silo conspires with the server", "at most 1 silo conspires with the server"
SUMS = "at most 8 sums are opened; a silo's own ledger counts those that it was in"


def assuming(*texts: str) -> Guarantee:
    return dataclasses.replace(BARE, assumptions=texts)


def test_a_known_assumption_has_one_number_in_every_run() -> None:
    assert numbered([assuming(NOBODY), assuming(SUMS, ONE)]) == {NOBODY: 5, SUMS: 8, ONE: 9}
    assert numbered([assuming(ONE, SUMS)]) == {SUMS: 8, ONE: 9}
    assert numbered([assuming(SUMS.replace("8 sums are", "1 sum is"))]).popitem()[1] == 8
    assert numbered([BARE]) == {}


def test_what_has_no_number_of_its_own_gets_the_next_ones() -> None:
    another = ONE.replace("1 silo", "2 silos")
    rows = [assuming("b", ONE), BARE, assuming("a", another)]
    known = len(assumptions._KNOWN)
    assert numbered(rows) == {ONE: 9, "b": known + 1, "a": known + 2, another: known + 3}


def test_neighbours_are_joined() -> None:
    numbers = {letter: number for number, letter in enumerate("abcdefg", start=1)}
    assert [named(assuming(*texts), numbers) for texts in ("", "a", "ab", "cab", "gfac", "bdf")] == [
        "none", "A1", "A1–A2", "A1–A3", "A1, A3, A6–A7", "A2, A4, A6",
    ]  # fmt: skip
