"""Parquet tables, read as the CSV table that they would be."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.data.table import Table, nearest_hint
from discreet.errors import DataError

if TYPE_CHECKING:
    import pyarrow


def read_parquet(path: Path, wanted: Sequence[str]) -> Table:
    """Reads columns of a Parquet file; an empty cell is an empty text, and a boolean is 0 or 1.

    Args:
        path: the file.
        wanted: names of the columns.

    Raises:
        DataError: if pyarrow is missing, the file cannot be read or a column is missing.
    """
    try:
        from pyarrow import ArrowException, parquet
    except ModuleNotFoundError:
        raise DataError(
            "reading Parquet needs the package pyarrow; it is not installed. "
            "Run: pip install 'discreet[parquet]'"
        ) from None
    try:
        known = parquet.read_schema(path).names
        names = list(dict.fromkeys(wanted))
        missing = sorted(set(names) - set(known))
        if missing:
            raise DataError(
                f"{path.name}: there is no column {missing[0]!r}.{nearest_hint(missing[0], known)}"
            )
        found = parquet.read_table(path, columns=names)
    except (OSError, ArrowException) as error:
        raise DataError(f"{path.name} must be a readable Parquet file; got {type(error).__name__}.") from None
    columns = {name: _cells(found.column(name)) for name in names}
    not_read = tuple(name for name in known if name not in columns)
    return Table(path.name, columns, np.arange(found.num_rows, dtype=np.int64), not_read=not_read)


def _cells(column: pyarrow.ChunkedArray) -> tuple[str, ...]:
    """Returns the cells of a column as text; a cell that cannot be converted is empty."""
    try:
        return tuple(map(_cell, column.to_pylist()))
    except (ValueError, OverflowError, ArithmeticError):
        return tuple(_alone(value) for value in column)


def _alone(value: Any) -> str:
    """Reads a cell of a column in which some cells do not convert, such as text that is not UTF-8."""
    try:
        return _cell(value.as_py())
    except (ValueError, OverflowError, ArithmeticError):
        return ""


def _cell(value: object) -> str:
    """Returns a cell as a CSV file would hold it."""
    text = "" if value is None else str(int(value)) if isinstance(value, bool) else str(value)
    return text.strip()
