"""CSV files with one header line, read a few rows at a time: memory does not grow with the file."""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

import numpy as np

from discreet.data.dialect import COMMAS, Dialect
from discreet.data.table import Table, no_column
from discreet.errors import DataError

CELLS_AT_A_TIME = 250_000
"""Of the cells that are kept as text at once; some 20 MB."""

_SPOILT_MARK = ("\ufffd\ufffd", "\xff\xfe", "\xfe\xff")
"""The mark of UTF-16 at the beginning of a header, read as UTF-8 or as one byte a character."""
_COMMA_WHOLE = re.compile(r"([+-]?[0-9]+),0*")


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A CSV file, compressed if its name ends in ``.gz``."""

    path: Path
    dialect: Dialect = COMMAS

    @property
    def name(self) -> str:
        """The file's name, for messages."""
        return self.path.name

    def header(self) -> tuple[str, ...]:
        """Returns the names of its columns; no record is read.

        Raises:
            DataError: if the file cannot be read, has no header or repeats a column.
        """
        with self._opened() as text, any_length():
            found = _header(csv.reader(text, delimiter=self.dialect.separator), self.name)
        if found[0].startswith(_SPOILT_MARK):
            raise DataError(f"{self.name} must be UTF-8; it is UTF-16. Save it as UTF-8.")
        return found

    def tables(self, wanted: Sequence[str]) -> Iterator[Table]:
        """Yields columns of the file, some rows at a time and at least once.

        Bytes of another encoding become a character that no category or number holds, in their own cell.
        A row with another number of cells than the header is left out.

        Raises:
            DataError: as `header`, or if a column is missing.
        """
        with self._opened() as text, any_length():
            yield from _tables(text, self.name, self.dialect, wanted)

    @contextmanager
    def _opened(self) -> Iterator[IO[str]]:
        """Opens the file as text; ends of lines as they are, since a cell may hold a lone carriage return."""
        with unpacked(self.path) as raw:
            yield io.TextIOWrapper(raw, encoding=self.dialect.codec, errors="replace", newline="")


@contextmanager
def unpacked(path: Path) -> Iterator[IO[bytes]]:
    """Opens a file's bytes, unpacked if its name ends in ``.gz``.

    Raises:
        DataError: if it cannot be read, here or while it is open.
    """
    try:
        with path.open("rb") as raw:
            yield gzip.GzipFile(fileobj=raw) if path.suffix == ".gz" else raw  # type: ignore[misc]
    except gzip.BadGzipFile:
        raise DataError(f"{path.name} must be a gzip file, as its name says; got other bytes.") from None
    except OSError as error:
        raise DataError(f"the data must be a readable file; {path}: {error.strerror}.") from None
    except (EOFError, zlib.error):
        raise DataError(f"{path.name} must be a whole gzip file; it is cut or damaged.") from None


def parse_table(content: str, *, name: str) -> Table:
    """Reads CSV text whole, with all its columns.

    Raises:
        DataError: if it has no header or repeats a column.
    """
    with any_length():
        header = _header(csv.reader(io.StringIO(content, newline="")), name)
        rows = content.count("\n") + content.count("\r") + 1
        return next(_tables(io.StringIO(content, newline=""), name, COMMAS, header, rows_at_a_time=rows))


def _header(rows: Iterator[list[str]], name: str) -> tuple[str, ...]:
    """Reads the first row that is not empty."""
    header = tuple(cell.strip() for cell in next((row for row in rows if row), []))
    if not header:
        raise DataError(f"{name}: a table must have a header; got an empty file.")
    repeated = sorted(column for column, count in Counter(header).items() if count > 1)
    if repeated:
        raise DataError(f"{name}: columns must have distinct names; {repeated[0]!r} appears twice.")
    return header


def _tables(
    text: IO[str], name: str, dialect: Dialect, wanted: Sequence[str], *, rows_at_a_time: int | None = None
) -> Iterator[Table]:
    """Yields the rows after the header."""
    rows = csv.reader(text, delimiter=dialect.separator)
    header = _header(rows, name)
    for column in wanted:
        if column not in header:
            raise DataError(f"{name}: {no_column(column, header)}")
    at = {column: header.index(column) for column in wanted}
    numbered, yielded = enumerate(rows), False
    limit = rows_at_a_time or max(1, CELLS_AT_A_TIME // len(header))
    while part := list(islice(numbered, limit)):
        yield _table(part, at, len(header), name, dialect)
        yielded = True
    if not yielded:
        yield _table([], at, len(header), name, dialect)


def _table(
    rows: list[tuple[int, list[str]]], at: dict[str, int], width: int, name: str, dialect: Dialect
) -> Table:
    """Turns rows into columns of stripped texts."""
    kept = [(place, row) for place, row in rows if len(row) == width]
    columns = {column: tuple([row[number].strip() for _, row in kept]) for column, number in at.items()}
    if dialect.decimal == ",":
        columns = {column: tuple(map(_whole, cells)) for column, cells in columns.items()}
    left_out = sum(1 for _, row in rows if row and len(row) != width)
    places = np.array([place for place, _ in kept], dtype=np.int64)
    return Table(name, columns, places, left_out, dialect.decimal)


def _whole(cell: str) -> str:
    """Returns a whole number without empty decimals: a gap among codes makes tools write "1,0" for "1"."""
    found = _COMMA_WHOLE.fullmatch(cell)
    return found[1] if found else cell


@contextmanager
def any_length() -> Iterator[None]:
    """Lets a cell be of any length, since one record must not stop the others."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)
