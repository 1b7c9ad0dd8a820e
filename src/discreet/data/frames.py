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
        DataError: if it is no frame, a column is missing, or columns differ in length.

    Example:
        >>> table_of({"age": [51, None], "sex": ["f", "m"]}, ["sex", "age"], name="north").columns
        {'sex': ('f', 'm'), 'age': ('51', '')}
    """
    known = column_names(frame, name)
    cells = {}
    for column in columns:
        if column not in known:
            raise DataError(f"{name}: {no_column(column, known)}")
        cells[column] = tuple(map(_text, values_of(frame[column])))
    lengths = {column: len(values) for column, values in cells.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"{name}: columns must be of equal length; got {lengths}.")
    rows = next(iter(lengths.values()), 0)
    return Table(name, cells, np.arange(rows, dtype=np.int64))


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
            f"{name}: records must be a dataframe, or a mapping of columns; got {type(frame).__name__}."
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
