"""Turning cells into features by public rules: ranges and categories that are known before any record is.

A range or a list of categories that was computed from the records (their minimum, mean or quantiles) would
reveal something about them that no noise covers. Every rule here reads one row at a time, and has an answer
for every cell: what one record holds must not decide whether a silo takes part.

A column's features have length at most 1, with or without a feature for missing cells: that one is 1 only
where the others are 0. So a record of k columns and a constant has length at most sqrt(k + 1) before it is
scaled to the public norm bound, which holds afterwards for every record alike.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from discreet.arrays import Booleans, Floats, Integers
from discreet.data.bins import Bins
from discreet.data.dates import DateOrder, day_number
from discreet.data.spelling import spelling
from discreet.data.table import Table, cells_note
from discreet.data.unusable import Unusable, accept, accept_in_numbers, clipped_note
from discreet.errors import DataError


@dataclass(frozen=True, slots=True)
class Numeric:
    """A number, clipped into the public range [``low``, ``high``] and mapped onto [-1, 1].

    A cell that holds no finite number becomes 0, the middle of the range.

    Attributes:
        column: name of the column.
        low: publicly known plausible minimum.
        high: publicly known plausible maximum.
        not_measured: a code that stands for "not measured". Such a cell becomes 0, the middle of the range,
            and a second feature is 1 for it and 0 otherwise. None: no such code.
        missing: whether the second feature is 1 for a cell that holds no finite number as well.
    """

    column: str
    low: float
    high: float
    not_measured: float | None = None
    missing: bool = False

    def __post_init__(self) -> None:
        if not (-math.inf < self.low < self.high < math.inf and math.isfinite(self.high - self.low)):
            raise DataError(
                f"the range of column {self.column!r} must be [low, high] with low < high, both finite; "
                f"got [{self.low}, {self.high}]."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The features that this column becomes."""
        if self.not_measured is not None:
            return (self.column, f"{self.column} not measured")
        return (self.column, f"{self.column} missing") if self.missing else (self.column,)

    def encode(self, table: Table) -> tuple[Floats, Unusable]:
        """Returns the features, shape ``(n, 1)`` or ``(n, 2)``, and what could not be read."""
        numbers = table.numbers(self.column)
        coded = (
            np.zeros(len(numbers), dtype=np.bool_)
            if self.not_measured is None
            else (numbers == self.not_measured)
        )
        return _on_a_scale(table, self, numbers, coded)

    def notes(self, name: str, rows: int, found: Unusable) -> tuple[str, ...]:
        """Returns what the owner should know of the column in a file of ``rows`` rows."""
        column = json.dumps(self.column, ensure_ascii=False)
        unread = cells_note(
            name,
            rows,
            self.column,
            found.unread,
            what=f"hold no finite number; {_counted(missing=self.missing)}",
            accept=accept_in_numbers(self.column, rows, found, missing=self.missing),
        )
        limits = f"[{self.low:g}, {self.high:g}]"
        return unread + clipped_note(
            name, rows, self.column, found, limits=limits, knob=f"ranges = {{ {column} = [LOW, HIGH] }}"
        )


@dataclass(frozen=True, slots=True)
class Days:
    """A date, as days on a public range [``first``, ``last``] that is mapped onto [-1, 1].

    A cell that holds no date becomes 0, the middle of the range.

    Attributes:
        column: name of the column.
        first: publicly known first plausible day.
        last: publicly known last plausible day.
        order: which of year, month and day comes first in a cell.
        missing: whether a second feature is 1 for a cell that holds no date.
    """

    column: str
    first: date
    last: date
    order: DateOrder = DateOrder.YMD
    missing: bool = False

    def __post_init__(self) -> None:
        if not self.first < self.last:
            raise DataError(
                f"the dates of column {self.column!r} must be from a day to a later one; "
                f"got {self.first} to {self.last}."
            )

    @property
    def low(self) -> float:
        """The number of the first day."""
        return float(self.first.toordinal())

    @property
    def high(self) -> float:
        """The number of the last day."""
        return float(self.last.toordinal())

    @property
    def names(self) -> tuple[str, ...]:
        """The features that this column becomes."""
        return (self.column, f"{self.column} missing") if self.missing else (self.column,)

    def encode(self, table: Table) -> tuple[Floats, Unusable]:
        """Returns the features, shape ``(n, 1)`` or ``(n, 2)``, and what could not be read."""
        cells = table.column(self.column)
        number = {cell: day_number(cell, self.order) for cell in set(cells)}
        days = np.array([number[cell] for cell in cells], dtype=np.float64)
        return _on_a_scale(table, self, days, np.zeros(len(days), dtype=np.bool_))

    def notes(self, name: str, rows: int, found: Unusable) -> tuple[str, ...]:
        """Returns what the owner should know of the column in a file of ``rows`` rows."""
        column, order = json.dumps(self.column, ensure_ascii=False), self.order.value
        example = {DateOrder.YMD: "2020-05-17", DateOrder.DMY: "17.5.2020", DateOrder.MDY: "5/17/2020"}
        unread = cells_note(
            name,
            rows,
            self.column,
            found.unread,
            what=f"hold no date of the order {order!r}, as in {example[self.order]}; "
            f"{_counted(missing=self.missing)}",
            accept=accept(self.column, found, f'another order is dates.{column}.order = "dmy" or "mdy"'),
        )
        knob = f'dates = {{ {column} = {{ from = "FIRST", to = "LAST" }} }}'
        return unread + clipped_note(
            name, rows, self.column, found, limits=f"{self.first} to {self.last}", knob=knob
        )


@dataclass(frozen=True, slots=True)
class Categories:
    """One of a public list of texts, as one indicator for each; any other text has all of them 0.

    Attributes:
        column: name of the column.
        values: the texts that get an indicator.
        baseline: a further text that is known and gets none, such as "normal"; None: there is none.
        missing: whether a blank cell has an indicator of its own.
    """

    column: str
    values: tuple[str, ...]
    baseline: str | None = None
    missing: bool = False

    def __post_init__(self) -> None:
        known = {None if text is None else spelling(text) for text in (*self._indicated, self.baseline)}
        if not (self.values and len(known) == len(self._indicated) + 1):
            raise DataError(f"the categories of column {self.column!r} must be distinct and at least one.")

    @property
    def _indicated(self) -> tuple[str, ...]:
        return (*self.values, "") if self.missing else self.values

    @property
    def names(self) -> tuple[str, ...]:
        """The features that this column becomes."""
        names = tuple(f"{self.column} = {value}" for value in self.values)
        return (*names, f"{self.column} missing") if self.missing else names

    @property
    def texts(self) -> tuple[str, ...]:
        """Every text that is known; those that get an indicator come first."""
        return self._indicated if self.baseline is None else (*self._indicated, self.baseline)

    def encode(self, table: Table) -> tuple[Floats, Unusable]:
        """Returns the indicators, shape ``(n, len(names))``, and what could not be read."""
        indicated = self._indicated
        numbers = category_numbers(table, self.column, self.texts)
        indicators = np.zeros((len(numbers), len(indicated)))
        # Unknown texts have number -1, and the baseline the one behind the last indicator.
        known = np.flatnonzero((numbers >= 0) & (numbers < len(indicated)))
        indicators[known, numbers[known]] = 1.0
        return indicators, _unknown(table, self.column, numbers)

    def notes(self, name: str, rows: int, found: Unusable) -> tuple[str, ...]:
        """Returns what the owner should know of the column in a file of ``rows`` rows."""
        values = self.values if self.baseline is None else (*self.values, self.baseline)
        return _unknown_note(name, rows, self.column, values, found)


@dataclass(frozen=True, slots=True)
class Contrast:
    """One of two public texts as one feature: ``negative`` is -1, ``positive`` is 1, anything else 0."""

    column: str
    negative: str
    positive: str

    @property
    def names(self) -> tuple[str, ...]:
        """The feature that this column becomes."""
        return (f"{self.column} = {self.positive}",)

    @property
    def texts(self) -> tuple[str, ...]:
        """Every text that is known."""
        return (self.negative, self.positive)

    def encode(self, table: Table) -> tuple[Floats, Unusable]:
        """Returns the feature, shape ``(n, 1)``, and what could not be read."""
        numbers = category_numbers(table, self.column, self.texts)
        return np.array([-1.0, 1.0, 0.0])[numbers][:, None], _unknown(table, self.column, numbers)

    def notes(self, name: str, rows: int, found: Unusable) -> tuple[str, ...]:
        """Returns what the owner should know of the column in a file of ``rows`` rows."""
        return _unknown_note(name, rows, self.column, self.texts, found)


Column = Numeric | Days | Categories | Contrast | Bins


def category_numbers(table: Table, column: str, values: Sequence[str]) -> Integers:
    """Returns for every cell its place in ``values``, shape ``(n,)``; -1 for a cell that is none of them.

    Raises:
        DataError: if there is no such column.
    """
    place = {spelling(value): number for number, value in enumerate(values)}
    cells = table.column(column)
    number = {cell: place.get(spelling(cell), -1) for cell in set(cells)}
    return np.array([number[cell] for cell in cells], dtype=np.int64)


def encode(table: Table, columns: Sequence[Column]) -> tuple[Floats, tuple[Unusable, ...]]:
    """Returns the features of all columns side by side, shape ``(n, d)``, and what each could not read.

    Without columns, as where records are counted and nothing else, there is one feature: 0.
    """
    if not columns:
        return np.zeros((len(table), 1)), ()
    encoded = [column.encode(table) for column in columns]
    features = np.ascontiguousarray(np.concatenate([part for part, _ in encoded], axis=1))
    return features, tuple(found for _, found in encoded)


def feature_names(columns: Sequence[Column]) -> tuple[str, ...]:
    """Returns the names of the features that `encode` makes."""
    return tuple(name for column in columns for name in column.names)


def _on_a_scale(
    table: Table, rule: Numeric | Days, numbers: Floats, coded: Booleans
) -> tuple[Floats, Unusable]:
    """Maps numbers from the rule's range onto [-1, 1]; 0 where there is none, or a code stands for none."""
    unread = np.isnan(numbers)
    position = (np.clip(numbers, rule.low, rule.high) - rule.low) / (rule.high - rule.low)
    scaled = np.where(coded | unread, 0.0, 2.0 * position - 1.0)
    blank = np.array([not cell for cell in table.column(rule.column)], dtype=np.bool_) & unread
    outside = ((numbers < rule.low) | (numbers > rule.high)) & ~coded
    # Blank cells are expected where they have a feature; texts are not.
    told = unread & ~blank if rule.missing else unread
    found = Unusable(int(told.sum()), int((blank & told).sum()), int(outside.sum()))
    if len(rule.names) == 1:
        return scaled[:, None], found
    marked = coded | unread if rule.missing else coded
    return np.stack([scaled, marked.astype(np.float64)], axis=1), found


def _counted(*, missing: bool) -> str:
    """Says what becomes of cells that hold no number."""
    middle = "they count as the middle of the range"
    return f"{middle}, and as missing, which has a feature" if missing else middle


def _unknown(table: Table, column: str, numbers: Integers) -> Unusable:
    """Counts the cells that are no known text."""
    unread = numbers < 0
    blank = sum(not cell and one for cell, one in zip(table.column(column), unread.tolist(), strict=True))
    return Unusable(int(unread.sum()), blank)


def _unknown_note(
    name: str, rows: int, column: str, values: Sequence[str], found: Unusable
) -> tuple[str, ...]:
    """Returns a line about cells that are none of ``values``."""
    what = f"are none of {', '.join(values)}; they count as none of them"
    known = json.dumps([*values, "TEXT"], ensure_ascii=False)
    texts = f"name every text, categories = {{ {json.dumps(column, ensure_ascii=False)} = {known} }}"
    return cells_note(name, rows, column, found.unread, what=what, accept=accept(column, found, texts))
