"""Reading a table: a CSV file with one header line, every cell kept as text until a public rule reads it."""

from __future__ import annotations

import csv
import difflib
import gzip
import io
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from discreet.errors import DataError


@dataclass(frozen=True, slots=True)
class Table:
    """The cells of a file, column by column.

    Attributes:
        name: the file's name, for messages.
        columns: header to cells, every column of equal length.
    """

    name: str
    columns: dict[str, tuple[str, ...]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def column(self, name: str) -> tuple[str, ...]:
        """Returns a column's cells.

        Raises:
            DataError: if there is no such column; it names the nearest one.
        """
        if name not in self.columns:
            raise DataError(f"{self.name}: there is no column {name!r}.{nearest_hint(name, self.columns)}")
        return self.columns[name]

    def numbers(self, name: str) -> npt.NDArray[np.float64]:
        """Returns a column as finite numbers, shape ``(n,)``.

        Raises:
            DataError: if a cell is empty, not a number, NaN or Inf; it counts the rows.
        """
        numbers = np.array([_number(cell) for cell in self.column(name)])
        unusable = int((~np.isfinite(numbers)).sum())
        if unusable:
            raise DataError(
                f"{self.name}, column {name!r}: every cell must hold a finite number; "
                f"{unusable} of {len(self)} rows do not. "
                "Remove these rows, or fill them by a rule that does not look at other rows."
            )
        return numbers

    def __repr__(self) -> str:
        return f"Table({self.name!r}, {len(self)} rows, {len(self.columns)} columns)"


def read_table(path: Path) -> Table:
    """Reads ``path``, a UTF-8 CSV file, compressed if its name ends in ``.gz``.

    Raises:
        DataError: if the file cannot be read, has no rows, repeats a column or has rows of unequal length.
    """
    return parse_table(_content(path), name=path.name)


def parse_table(content: str, *, name: str) -> Table:
    """Reads CSV text; see `read_table`."""
    rows = (row for row in csv.reader(io.StringIO(content)) if row)
    header = [cell.strip() for cell in next(rows, [])]
    repeated = sorted({column for column in header if header.count(column) > 1})
    if repeated:
        raise DataError(f"{name}: columns must have distinct names; {repeated[0]!r} appears twice.")
    # One object for equal cells: tables of categories and codes shrink to a fraction.
    known: dict[str, str] = {}
    columns: list[list[str]] = [[] for _ in header]
    count = ragged = 0
    for row in rows:
        count += 1
        if len(row) != len(header):
            ragged += 1
            continue
        for column, cell in zip(columns, row, strict=True):
            text = cell.strip()
            column.append(known.setdefault(text, text))
    if ragged:
        raise DataError(
            f"{name}: every row must have {len(header)} cells; {ragged} of {count} rows have another number."
        )
    if not count >= 1:
        raise DataError(f"{name}: a table must have a header and at least one row below it; got no row.")
    return Table(name, {title: tuple(cells) for title, cells in zip(header, columns, strict=True)})


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
        return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8-sig")
    except gzip.BadGzipFile:
        raise DataError(f"{path.name} must be a gzip file, as its name says; it is not.") from None
    except OSError as error:
        raise DataError(f"the data must be a readable file; {path}: {error.strerror}.") from None
    except (UnicodeDecodeError, EOFError, zlib.error):
        raise DataError(f"{path.name} must be a whole file of UTF-8 text; it is not.") from None


def _number(cell: str) -> float:
    """Returns the number in a cell, NaN if there is none."""
    try:
        return float(cell)
    except ValueError:
        return float("nan")
