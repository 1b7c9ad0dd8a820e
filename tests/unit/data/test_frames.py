"""Frames become tables cell by cell, whatever library they come from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from discreet.data.frames import table_of
from discreet.errors import DataError


class Frame:
    """As much of a dataframe as pandas and polars share."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self._columns = columns

    @property
    def columns(self) -> list[str]:
        return list(self._columns)

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]


class NAType:
    """What pandas calls a missing value: it has no truth value, not even compared with itself."""

    def __eq__(self, other: object) -> Any:
        return self

    def __hash__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        raise TypeError("boolean value of NA is ambiguous")


CELLS: dict[str, Any] = {
    "a": np.array([1.5, math.nan]),
    "b": [None, NAType()],
    "c": np.array([True, False]),
    "d": (" x ", 7),
}


@pytest.mark.parametrize("frame", [CELLS, Frame(CELLS)], ids=["mapping", "frame"])
def test_every_cell_becomes_text(frame: Any) -> None:
    assert table_of(frame, ["d", "a", "b", "c"], name="north").columns == {
        "d": ("x", "7"),
        "a": ("1.5", ""),
        "b": ("", ""),
        "c": ("1", "0"),
    }


def test_numpys_truth_values_and_endless_numbers_are_read_by_themselves() -> None:
    cells = [np.True_, False, None, 10**5000]
    assert table_of({"a": cells}, ["a"], name="north").columns == {"a": ("1", "0", "", "")}


def test_floats_keep_their_bits() -> None:
    values = np.random.default_rng(0).normal(size=100) * 1e300
    assert (table_of({"a": values}, ["a"], name="north").numbers("a") == values).all()


def test_other_columns_are_not_read() -> None:
    assert table_of({"a": [1], "broken": object()}, ["a"], name="north").columns == {"a": ("1",)}


@pytest.mark.parametrize(
    ("frame", "columns", "message"),
    [
        (7, ["a"], "must be a dataframe.*got int"),
        ({"age": [1]}, ["aeg"], "no column 'aeg'. Did you mean 'age'"),
        ({"a": [1], "b": []}, ["a", "b"], "equal length"),
    ],
)
def test_what_is_no_frame_is_one_clear_line(frame: Any, columns: list[str], message: str) -> None:
    with pytest.raises(DataError, match=f"^north: .*{message}"):
        table_of(frame, columns, name="north")
