"""Turning cells into features by public rules: ranges and categories that are known before any record is.

A range or a list of categories that was computed from the records (their minimum, mean or quantiles) would
reveal something about them that no noise covers. Every rule here reads one row at a time, and has an answer
for every cell: what one record holds must not decide whether a silo takes part.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.data.spelling import spelling
from discreet.data.table import Table, cells_note
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
            and a second feature is 1 for it and 0 otherwise. None: no such code, no second feature.
    """

    column: str
    low: float
    high: float
    not_measured: float | None = None

    def __post_init__(self) -> None:
        if not (-math.inf < self.low < self.high < math.inf and math.isfinite(self.high - self.low)):
            raise DataError(
                f"the range of column {self.column!r} must be [low, high] with low < high, both finite; "
                f"got [{self.low}, {self.high}]."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The features that this column becomes."""
        if self.not_measured is None:
            return (self.column,)
        return (self.column, f"{self.column} not measured")

    def encode(self, table: Table) -> tuple[Floats, tuple[str, ...]]:
        """Returns the features, shape ``(n, 1)`` or ``(n, 2)``, and notes for the owner."""
        numbers = table.numbers(self.column)
        unreadable = np.isnan(numbers)
        notes = self._notes(table, numbers)
        position = (np.clip(numbers, self.low, self.high) - self.low) / (self.high - self.low)
        scaled = 2.0 * position - 1.0
        if self.not_measured is None:
            return np.where(unreadable, 0.0, scaled)[:, None], notes
        absent = numbers == self.not_measured
        neutral = np.where(absent | unreadable, 0.0, scaled)
        return np.stack([neutral, absent.astype(np.float64)], axis=1), notes

    def _notes(self, table: Table, numbers: Floats) -> tuple[str, ...]:
        """Counts the cells that hold no number, and those that are clipped."""
        unreadable = cells_note(
            table,
            self.column,
            int(np.isnan(numbers).sum()),
            "hold no finite number; they count as the middle of the range",
            f'texts need categories = {{ {json.dumps(self.column)} = ["TEXT", "OTHER TEXT"] }}',
        )
        outside = ((numbers < self.low) | (numbers > self.high)) & (numbers != self.not_measured)
        if not outside.any():
            return unreadable
        clipped = (
            f"{table.name}, column {self.column!r}: {int(outside.sum())} of {len(table)} cells are outside "
            f"[{self.low:g}, {self.high:g}] and are clipped to it. If that is more than mistakes, widen the "
            f"range by public knowledge: ranges = {{ {json.dumps(self.column)} = [LOW, HIGH] }}.",
        )
        return unreadable + clipped


@dataclass(frozen=True, slots=True)
class Categories:
    """One of a public list of texts, as one indicator for each; any other text has all of them 0.

    Attributes:
        column: name of the column.
        values: the texts that get an indicator.
        baseline: a further text that is known and gets none, such as "normal"; None: there is none.
    """

    column: str
    values: tuple[str, ...]
    baseline: str | None = None

    def __post_init__(self) -> None:
        known = {None if text is None else spelling(text) for text in (*self.values, self.baseline)}
        if not (self.values and len(known) == len(self.values) + 1):
            raise DataError(f"the categories of column {self.column!r} must be distinct and at least one.")

    @property
    def names(self) -> tuple[str, ...]:
        """The features that this column becomes."""
        return tuple(f"{self.column} = {value}" for value in self.values)

    def encode(self, table: Table) -> tuple[Floats, tuple[str, ...]]:
        """Returns the indicators, shape ``(n, len(values))``, and notes for the owner."""
        texts = self.values if self.baseline is None else (*self.values, self.baseline)
        numbers = category_numbers(table, self.column, texts)
        indicators = np.zeros((len(numbers), len(self.values)))
        # Unknown texts have number -1, and the baseline the one behind the last indicator.
        known = np.flatnonzero((numbers >= 0) & (numbers < len(self.values)))
        indicators[known, numbers[known]] = 1.0
        return indicators, _unknown(table, self.column, numbers, texts)


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

    def encode(self, table: Table) -> tuple[Floats, tuple[str, ...]]:
        """Returns the feature, shape ``(n, 1)``, and notes for the owner."""
        texts = (self.negative, self.positive)
        numbers = category_numbers(table, self.column, texts)
        return np.array([-1.0, 1.0, 0.0])[numbers][:, None], _unknown(table, self.column, numbers, texts)


Column = Numeric | Categories | Contrast


def category_numbers(table: Table, column: str, values: Sequence[str]) -> Integers:
    """Returns for every cell its place in ``values``, shape ``(n,)``; -1 for a cell that is none of them.

    Raises:
        DataError: if there is no such column.
    """
    place = {spelling(value): number for number, value in enumerate(values)}
    found = [place.get(spelling(cell), -1) for cell in table.column(column)]
    return np.array(found, dtype=np.int64)


def _unknown(table: Table, column: str, numbers: Integers, values: Sequence[str]) -> tuple[str, ...]:
    """Returns a note about cells that are none of ``values``."""
    what = f"are none of {', '.join(values)}; they count as none of them"
    known = json.dumps([*values, "TEXT"], ensure_ascii=False)
    accept = f"name every text, categories = {{ {json.dumps(column)} = {known} }}"
    return cells_note(table, column, int((numbers < 0).sum()), what, accept)


def encode(table: Table, columns: Sequence[Column]) -> tuple[Floats, tuple[str, ...], tuple[str, ...]]:
    """Returns the features of all columns side by side, shape ``(n, d)``, their names, and notes."""
    encoded = [column.encode(table) for column in columns]
    features = np.ascontiguousarray(np.concatenate([part for part, _ in encoded], axis=1))
    names = tuple(name for column in columns for name in column.names)
    return features, names, tuple(note for _, notes in encoded for note in notes)
