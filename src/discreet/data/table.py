"""The cells of a table, kept as text until a public rule reads them."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import Booleans, Floats, Integers
from discreet.documents import shown
from discreet.errors import DataError


@dataclass(frozen=True, slots=True)
class Table:
    """Some rows of a file, column by column; possibly none.

    Attributes:
        name: the file's name, for messages.
        columns: header to cells, every column of equal length.
        places: row of the file that each row of the table is, shape ``(n,)``.
        left_out: how many rows between these had another number of cells than the header.
        decimal: what separates the digits of a number: a point, or a comma.
    """

    name: str
    columns: dict[str, tuple[str, ...]]
    places: Integers
    left_out: int = 0
    decimal: str = "."

    def __len__(self) -> int:
        return len(self.places)

    def column(self, name: str) -> tuple[str, ...]:
        """Returns a column's cells.

        Raises:
            DataError: if there is no such column; it names the nearest one.
        """
        if name not in self.columns:
            raise DataError(f"{self.name}: {no_column(name, self.columns)}")
        return self.columns[name]

    def numbers(self, name: str) -> Floats:
        """Returns a column as numbers, shape ``(n,)``; NaN for a cell that holds no finite one.

        Raises:
            DataError: if there is no such column.
        """
        read = _number if self.decimal == "." else _number_with_comma
        return np.array([read(cell) for cell in self.column(name)], dtype=np.float64)

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


def no_column(name: str, known: Iterable[str]) -> str:
    """Says that a column is missing, and which is nearest; or how a header of one column may be split."""
    known = list(known)
    if hint := split_hint(known):
        return f"there is no column {name!r}. {hint}"
    if any("\ufffd" in column for column in known):
        return (
            f"there is no column {name!r}, and the header holds bytes of another encoding. "
            'Set encoding, such as "latin-1" or "cp1252".'
        )
    return f"there is no column {name!r}.{nearest_hint(name, known)}"


def likely_separator(header: Collection[str]) -> str:
    """Returns the separator that would split a header of one column; empty if there is none."""
    (only,) = header if len(header) == 1 else ("",)
    return next((separator for separator in (";", "\t", "|") if separator in only), "")


def split_hint(header: Collection[str]) -> str:
    """Returns a sentence about a header of one column that another separator would split; else nothing."""
    if not (separator := likely_separator(header)):
        return ""
    (only,) = header
    return f"Its one column is {only!r}; if cells end at {separator!r}, set separator = {separator!r}."


ACCEPT = " To accept them:"
"""What comes before the advice of `cells_note`."""

_MOST_NAMED, _LONGEST_NAME = 20, 100


def cells_note(
    name: str, rows: int, column: str, unusable: int, *, what: str, accept: str
) -> tuple[str, ...]:
    """Returns a line for the owner about ``unusable`` cells of a column; nothing if there are none.

    Args:
        name: the file's name.
        rows: how many rows it has.
        column: the column's name.
        unusable: how many of its cells.
        what: what such cells are and what becomes of them, after "3 of 303 cells".
        accept: an example of the public rule that would accept them, made from no cell.
    """
    if not unusable:
        return ()
    loud = "NOT ONE CELL CAN BE USED; is this the right column? " if unusable == rows else ""
    return (f"{name}, column {column!r}: {loud}{unusable} of {rows} cells {what}.{ACCEPT} {accept}.",)


def nearest_hint(name: str, known: Iterable[str]) -> str:
    """Returns a sentence that names the nearest known name, or the first of them if none is near."""
    known = list(known)
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if nearest:
        return f" Did you mean {nearest[0]!r}?"
    more = f", and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
    names = ", ".join(shown(name, _LONGEST_NAME) for name in known[:_MOST_NAMED])
    return f" There are: {names}{more}." if known else " There are none."


def _number(cell: str) -> float:
    """Returns the finite number in a cell, NaN if there is none."""
    try:
        number = float(cell)
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan


def _number_with_comma(cell: str) -> float:
    """Returns the finite number in a cell; a point in it could group thousands, so it makes it none."""
    return math.nan if "." in cell else _number(cell.replace(",", "."))
