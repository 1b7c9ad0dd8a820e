"""Units of a silo: whose rows are whose, and what each counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data import Records
from discreet.errors import PrivacyViolation
from discreet.kinds.persons import PersonWeights
from discreet.learning.units import PersonUnits, units_of


def records(persons: list[int] | None, count: int = 0) -> Records:
    number = count if persons is None else len(persons)
    own = None if persons is None else np.array(persons, dtype=np.int64)
    return Records(np.zeros((number, 1), np.float32), np.zeros(number, np.int64), own)


def test_without_persons_every_record_is_a_unit() -> None:
    units = units_of(records([4, 4, 9]), None)
    assert (units.count, units.rows(np.array([2, 0])).tolist(), units.weights(np.array([0]))) == (
        3,
        [2, 0],
        None,
    )


@given(st.lists(st.integers(0, 9), max_size=40), st.booleans(), st.lists(st.integers(0, 9), unique=True))
def test_rows_and_weights_are_each_persons_own(persons: list[int], over: bool, asked: list[int]) -> None:
    units = units_of(records(persons), PersonWeights(40, over_records=over))
    assert isinstance(units, PersonUnits)
    known = sorted(set(persons))
    assert units.count == len(known)
    chosen = [one for one in asked if one < len(known)]
    rows = units.rows(np.array(chosen, dtype=np.int64)).tolist()
    expected = [place for one in chosen for place, whose in enumerate(persons) if whose == known[one]]
    assert rows == expected
    every = units.weights(np.arange(len(persons)))
    for one in known:
        mine = every[[whose == one for whose in persons]]
        assert float(mine.sum()) <= 1.0 + 1e-12
        assert len(set(mine.tolist())) == 1
        assert float(mine[0]) == pytest.approx(1 / 40 if over else 1 / len(mine))


def test_a_person_with_more_records_than_is_public_is_refused() -> None:
    with pytest.raises(PrivacyViolation, match="public number of records, 2"):
        units_of(records([0, 0, 0]), PersonWeights(2))


def test_records_that_do_not_say_whose_they_are_are_refused() -> None:
    with pytest.raises(PrivacyViolation, match="must say whose they are"):
        units_of(records(None, 3), PersonWeights(2))
