"""Tables in memory: a dataframe or a mapping of columns becomes the same `Table` as a file does."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.data.table import Table, no_column
from discreet.errors import DataError

# pandas writes a missing value in its own types; both print as text that a category could hold.
_MISSING = frozenset({"NAType", "NaTType"})


def table_of(frame: Any, columns: Sequence[str], *, name: str) -> Table:
    """Returns the named columns of a frame as a table; every cell becomes text by itself.

    Args:
        frame: a pandas or polars frame, or a mapping from column names to sequences of equal length.
        columns: the columns that are used; others are not read.
        name: whose table it is, for messages.

    Raises:
        DataError: if it is no frame, a column is missing or there twice, or columns differ in length.

    Example:
        >>> table_of({"age": [51, None], "sex": ["f", "m"]}, ["sex", "age"], name="north").columns
        {'sex': ('f', 'm'), 'age': ('51', '')}
    """
    held = _columns(frame, _keys(frame, columns, name), name)
    cells = {column: tuple(map(_text, values_of(values))) for column, values in held.items()}
    lengths = {column: len(values) for column, values in cells.items()}
    _require_one_length(lengths, name)
    rows = next(iter(lengths.values()), 0)
    return Table(name, cells, np.arange(rows, dtype=np.int64))


def require_columns(frame: Any, columns: Sequence[str], name: str) -> None:
    """Refuses a frame that lacks a column, or a mapping of columns that differ in length; reads no cell.

    Raises:
        DataError: naming the column, or the lengths.
    """
    keys = _keys(frame, columns, name)
    if isinstance(frame, Mapping):  # in a dataframe all columns have one length
        held = _columns(frame, keys, name)
        _require_one_length({one: len(held[one]) for one in held if hasattr(held[one], "__len__")}, name)


def _keys(frame: Any, columns: Sequence[str], name: str) -> dict[str, Any]:
    """Returns what a frame calls the named columns itself, which may be numbers of these texts."""
    called = frame.keys() if isinstance(frame, Mapping) else getattr(frame, "columns", ())
    known, own = column_names(frame, name), {str(key): key for key in called}
    for column in columns:
        if column not in own:
            raise DataError(f"{name}: {no_column(column, known)}")
        if len(own) < len(known) and known.count(column) > 1:
            raise DataError(
                f"{name}: {known.count(column)} columns are called {column!r}. Rename all but one."
            )
    return {column: own[column] for column in columns}


def _columns(frame: Any, keys: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Returns columns as the frame holds them."""
    held = {column: frame[key] for column, key in keys.items()}
    for column, values in held.items():
        if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__iter__"):
            raise DataError(
                f"{name}: column {column!r} must be a sequence of cells; got {type(values).__name__}."
            )
    return held


def _require_one_length(lengths: Mapping[str, int], name: str) -> None:
    if len(set(lengths.values())) > 1:
        raise DataError(f"{name}: columns must be of equal length; got {dict(lengths)}.")


def column_names(frame: Any, name: str) -> list[str]:
    """Returns the names of a frame's columns.

    Raises:
        DataError: if it is no frame.
    """
    names = getattr(frame, "columns", None)
    if names is None and isinstance(frame, Mapping):
        names = frame.keys()
    if names is None:
        raise DataError(
            f"{name}: the table of a silo must be a dataframe, or a mapping of columns; got "
            f"{type(frame).__name__}. Give each silo a table by its name."
        )
    return [str(column) for column in names]


def values_of(column: Any) -> list[Any]:
    """Returns values as Python's own, whatever library holds them."""
    values = column.tolist() if hasattr(column, "tolist") else list(column)
    return values if isinstance(values, list) else [values]


def _text(value: object) -> str:
    """Returns the text of one cell: empty where a value is missing, 1 and 0 for the truth values."""
    if value is None or type(value).__name__ in _MISSING or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    try:
        return str(value).strip()
    except ValueError:  # a whole number of more digits than Python writes down
        return ""
