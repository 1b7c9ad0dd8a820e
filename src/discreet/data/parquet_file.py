"""Parquet files, read a few rows at a time as the CSV table that they would be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.data.csv_file import CELLS_AT_A_TIME
from discreet.data.table import Table, no_column
from discreet.errors import DataError

if TYPE_CHECKING:
    import pyarrow
    from pyarrow import parquet


@dataclass(frozen=True, slots=True)
class ParquetFile:
    """A Parquet file; an empty cell is an empty text, and a boolean is 0 or 1."""

    path: Path

    @property
    def name(self) -> str:
        """The file's name, for messages."""
        return self.path.name

    def header(self) -> tuple[str, ...]:
        """Returns the names of its columns; no record is read.

        Raises:
            DataError: if pyarrow is missing or the file cannot be read.
        """
        with self._opened() as file:
            return self._distinct(file)

    def tables(self, wanted: Sequence[str]) -> Iterator[Table]:
        """Yields columns of the file, some rows at a time and at least once.

        Raises:
            DataError: as `header`, or if a column is missing.
        """
        names = list(dict.fromkeys(wanted))
        with self._opened() as file:
            known = self._distinct(file)
            for column in names:
                if column not in known:
                    raise DataError(f"{self.name}: {no_column(column, known)}")
            first = 0
            rows = max(1, CELLS_AT_A_TIME // max(1, len(names)))
            for batch in file.iter_batches(batch_size=rows, columns=names, use_threads=False):
                columns = {name: _cells(batch.column(name)) for name in names}
                yield Table(self.name, columns, np.arange(first, first + batch.num_rows, dtype=np.int64))
                first += batch.num_rows
            if not first:
                yield Table(self.name, dict.fromkeys(names, ()), np.arange(0, dtype=np.int64))

    def _distinct(self, file: parquet.ParquetFile) -> tuple[str, ...]:
        names = tuple(file.schema_arrow.names)
        repeated = sorted(name for name, count in Counter(names).items() if count > 1)
        if repeated:
            raise DataError(f"{self.name}: columns must have distinct names; {repeated[0]!r} appears twice.")
        return names

    @contextmanager
    def _opened(self) -> Iterator[parquet.ParquetFile]:
        try:
            from pyarrow import ArrowException, parquet
        except ModuleNotFoundError:
            raise DataError(
                "reading Parquet needs the package pyarrow; it is not installed. "
                "Run: pip install 'discreet[parquet]'"
            ) from None
        try:
            # Buffered ahead, the file would be in memory beside its records; so would a part for each thread.
            with parquet.ParquetFile(self.path, pre_buffer=False) as file:
                yield file
        except FileNotFoundError as error:
            raise DataError(f"the data must be a readable file; {self.path}: {error.strerror}.") from None
        except (OSError, ArrowException) as error:
            raise DataError(
                f"{self.path.name} must be a readable Parquet file; got {type(error).__name__}."
            ) from None


def _cells(column: pyarrow.Array) -> tuple[str, ...]:
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
