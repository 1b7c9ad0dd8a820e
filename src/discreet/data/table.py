"""Reading a table: a CSV file with one header line, every cell kept as text until a public rule reads it."""

from __future__ import annotations

import csv
import difflib
import gzip
import io
import math
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from discreet.arrays import Booleans, Floats, Integers
from discreet.errors import DataError


@dataclass(frozen=True, slots=True)
class Table:
    """The cells of a file, column by column; possibly no row.

    Attributes:
        name: the file's name, for messages.
        columns: header to cells, every column of equal length.
        places: row of the file that each row of the table is, shape ``(n,)``.
        notes: what the owner should know of rows that could not be read; counts, and no cell.
        not_read: columns of the file that were not even read.
    """

    name: str
    columns: dict[str, tuple[str, ...]]
    places: Integers
    notes: tuple[str, ...] = ()
    not_read: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.places)

    def column(self, name: str) -> tuple[str, ...]:
        """Returns a column's cells.

        Raises:
            DataError: if there is no such column; it names the nearest one.
        """
        if name not in self.columns:
            raise DataError(f"{self.name}: there is no column {name!r}.{nearest_hint(name, self.columns)}")
        return self.columns[name]

    def numbers(self, name: str) -> Floats:
        """Returns a column as numbers, shape ``(n,)``; NaN for a cell that holds no finite one.

        Raises:
            DataError: if there is no such column.
        """
        return np.array([_number(cell) for cell in self.column(name)], dtype=np.float64)

    def take(self, rows: Booleans) -> Table:
        """Returns the rows where ``rows`` is True."""
        if rows.all():
            return self
        kept = {
            name: tuple(cell for cell, keep in zip(cells, rows.tolist(), strict=True) if keep)
            for name, cells in self.columns.items()
        }
        return replace(self, columns=kept, places=self.places[rows])

    def __repr__(self) -> str:
        return f"Table({self.name!r}, {len(self)} rows, {len(self.columns)} columns)"


def cells_note(table: Table, column: str, unusable: int, what: str, accept: str) -> tuple[str, ...]:
    """Returns a line for the owner about ``unusable`` cells of a column; nothing if there are none.

    Args:
        table: the table.
        column: the column's name.
        unusable: how many of its cells.
        what: what such cells are and what becomes of them, after "3 of 303 cells".
        accept: an example of the public rule that would accept them, made from no cell.
    """
    if not unusable:
        return ()
    loud = "NOT ONE CELL CAN BE USED; is this the right column? " if unusable == len(table) else ""
    return (
        f"{table.name}, column {column!r}: {loud}{unusable} of {len(table)} cells {what}. "
        f"To accept them: {accept}.",
    )


def read_table(path: Path) -> Table:
    """Reads ``path``, a UTF-8 CSV file, compressed if its name ends in ``.gz``.

    Bytes that are not UTF-8 become a character that no category or number holds, in their own cell only.

    Raises:
        DataError: if the file cannot be read, has no header or repeats a column.
    """
    return parse_table(_content(path), name=path.name)


def parse_table(content: str, *, name: str) -> Table:
    """Reads CSV text; see `read_table`. A row with another number of cells than the header is left out."""
    rows = _rows(content)
    header = [cell.strip() for cell in next((row for row in rows if row), [])]
    if not header:
        raise DataError(f"{name}: a table must have a header; got an empty file.")
    repeated = sorted({column for column in header if header.count(column) > 1})
    if repeated:
        raise DataError(f"{name}: columns must have distinct names; {repeated[0]!r} appears twice.")
    # One object for equal cells: tables of categories and codes shrink to a fraction.
    known: dict[str, str] = {}
    columns: list[list[str]] = [[] for _ in header]
    places: list[int] = []
    count = 0
    for place, row in enumerate(rows):
        count += bool(row)
        if len(row) != len(header):
            continue
        places.append(place)
        for column, cell in zip(columns, row, strict=True):
            text = cell.strip()
            column.append(known.setdefault(text, text))
    notes = []
    if ragged := count - len(places):
        notes.append(
            f"{name}: {ragged} of {count} rows have another number of cells than the header's {len(header)}; "
            "they are left out."
        )
    return Table(
        name,
        {title: tuple(cells) for title, cells in zip(header, columns, strict=True)},
        np.array(places, dtype=np.int64),
        tuple(notes),
    )


def _rows(content: str) -> Iterator[list[str]]:
    """Yields the rows; a cell of any length is read, since one record must not stop the others."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        # Ends of lines as they are: a lone carriage return in a cell would else be an error.
        yield from csv.reader(io.StringIO(content, newline=""))
    finally:
        csv.field_size_limit(before)


def nearest_hint(name: str, known: Iterable[str]) -> str:
    """Returns a sentence that names the nearest known name, or all of them if none is near."""
    known = list(known)
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if nearest:
        return f" Did you mean {nearest[0]!r}?"
    return f" There are: {', '.join(known)}." if known else " There are none."


def _content(path: Path) -> str:
    """Returns the text of a file."""
    try:
        raw = path.read_bytes()
        return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8-sig", errors="replace")
    except gzip.BadGzipFile:
        raise DataError(f"{path.name} must be a gzip file, as its name says; got other bytes.") from None
    except OSError as error:
        raise DataError(f"the data must be a readable file; {path}: {error.strerror}.") from None
    except (EOFError, zlib.error):
        raise DataError(f"{path.name} must be a whole gzip file; it is cut or damaged.") from None


def _number(cell: str) -> float:
    """Returns the finite number in a cell, NaN if there is none."""
    try:
        number = float(cell)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan
