"""What the label of a table is: one of several classes, a number in a public range, or several labels.

A label is an integer in memory always, so that records are held out, dealt out and told apart by one rule:
the number of a class; the place of a number in its range, counted in `PARTS` for half of it; or of several
labels with two values, the number whose bit k, from 0, is the k-th one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.data.columns import category_numbers
from discreet.data.remarks import label_notes, outcome_notes, several_notes
from discreet.data.spelling import spelling
from discreet.data.table import Table
from discreet.errors import DataError

NUMBER = 1
"""The number of classes of a label that is a number: there is nothing to choose between."""

PARTS = 1 << 30
"""Half of a range has so many parts: numbers are rounded to them, finer than float32 tells features apart."""


Columns = str | tuple[str, ...]
"""The column that holds the label, or those of several labels, in their order."""


@dataclass(frozen=True, slots=True)
class Classes:
    """A label that is one of some texts; their order numbers the classes.

    Raises:
        DataError: for fewer than two distinct ones.
    """

    texts: tuple[str, ...]

    def __post_init__(self) -> None:
        if not len(set(map(spelling, self.texts))) == len(self.texts) >= 2:
            raise DataError(f"there must be at least two distinct classes; got {len(self.texts)}.")

    def read(self, table: Table, column: Columns) -> tuple[Integers, Integers]:
        """Returns the class of every row, -1 for none; and how many rows each class has, and last none."""
        labels = category_numbers(table, str(column), self.texts)
        none = len(self.texts)
        return labels, np.bincount(np.where(labels < 0, none, labels), minlength=none + 1)

    def notes(self, name: str, column: Columns, counts: Integers) -> tuple[str, ...]:
        """Returns what the owner should know of the labels of a file, from the counts of its rows."""
        return label_notes(name, str(column), self.texts, counts)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A label that is a number, clipped into the public range [``low``, ``high``].

    Its position is where it lies in the range, mapped onto [-1, 1].

    Raises:
        DataError: if it is no range.

    Example:
        >>> stay = Outcome(0.0, 60.0)
        >>> stay.positions(stay.labels(np.array([0.0, 45.0, 99.0]))).tolist(), stay.labels(np.array([np.nan]))
        ([-1.0, 0.5, 1.0], array([-1]))
        >>> stay.numbers(np.array([-1.0, 0.5])).tolist()
        [0.0, 45.0]
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (-math.inf < self.low < self.high < math.inf and math.isfinite(self.high - self.low)):
            raise DataError(
                "label_range must be [low, high] with low < high, both finite; got "
                f"[{self.low}, {self.high}]."
            )

    @property
    def half(self) -> float:
        """Half the length of the range: what one unit of position is in the outcome's own unit."""
        return (self.high - self.low) / 2.0

    def labels(self, numbers: Floats) -> Integers:
        """Returns the labels of some numbers, shape ``(n,)``; -1 for one that is not finite."""
        usable = np.isfinite(numbers)
        position = (np.clip(np.where(usable, numbers, self.low), self.low, self.high) - self.low) / self.half
        return np.where(usable, np.rint(position * PARTS), -1.0).astype(np.int64)

    @staticmethod
    def positions(labels: Integers) -> Floats:
        """Returns the positions of some labels, float64 in [-1, 1]; exact."""
        positions: Floats = np.clip(labels, 0, 2 * PARTS) / PARTS - 1.0
        return positions

    def numbers(self, positions: Floats) -> Floats:
        """Returns positions in the outcome's own unit; one outside of [-1, 1] is outside of the range."""
        return self.low + (positions + 1.0) * self.half

    def read_back(self, labels: Integers) -> Floats:
        """Returns the numbers that some labels stand for, clipped and rounded as they are."""
        return self.numbers(self.positions(labels))

    def read(self, table: Table, column: Columns) -> tuple[Integers, Integers]:
        """Returns the label of every row, -1 for none; and how many are inside, outside and without one."""
        numbers = table.numbers(str(column))
        labels = self.labels(numbers)
        unusable = int((labels < 0).sum())
        outside = int(((numbers < self.low) | (numbers > self.high)).sum())
        return labels, np.array([len(labels) - unusable - outside, outside, unusable])

    def notes(self, name: str, column: Columns, counts: Integers) -> tuple[str, ...]:
        """Returns what the owner should know of the labels of a file, from the counts of its rows."""
        return outcome_notes(name, str(column), self.low, self.high, counts)


@dataclass(frozen=True, slots=True)
class NoLabel:
    """No label at all: records are asked questions, and every one has class 0."""

    def read(self, table: Table, column: Columns) -> tuple[Integers, Integers]:  # noqa: ARG002 - as the others
        """Returns 0 for every row, and how many there are."""
        return np.zeros(len(table), dtype=np.int64), np.array([len(table)])

    def notes(self, name: str, column: Columns, counts: Integers) -> tuple[str, ...]:  # noqa: ARG002
        """Returns nothing."""
        return ()


@dataclass(frozen=True, slots=True)
class SeveralLabels:
    """Some columns with two values each; a record that lacks one of them has no label.

    Attributes:
        columns: their names.
        texts: of both values, the same in all columns.
    """

    columns: tuple[str, ...]
    texts: tuple[str, str]

    def read(self, table: Table, column: Columns) -> tuple[Integers, Integers]:  # noqa: ARG002 - as the others
        """Returns the number of every row's labels, -1 for none; how many rows have each, and last none."""
        found = np.stack([category_numbers(table, one, self.texts) for one in self.columns])
        numbers = (np.maximum(found, 0) << np.arange(len(self.columns))[:, None]).sum(axis=0)
        labels = np.where((found < 0).any(axis=0), -1, numbers)
        none = 1 << len(self.columns)
        return labels, np.bincount(np.where(labels < 0, none, labels), minlength=none + 1)

    def notes(self, name: str, column: Columns, counts: Integers) -> tuple[str, ...]:  # noqa: ARG002
        """Returns what the owner should know of the labels of a file, from the counts of its rows."""
        return several_notes(name, self.columns, self.texts, counts)


LabelRule = Classes | Outcome | SeveralLabels | NoLabel


def extreme_labels(num_classes: int) -> Integers:
    """Returns labels that are farthest apart: every class, or both ends of a range."""
    return np.array([0, 2 * PARTS]) if num_classes == NUMBER else np.arange(num_classes)


def other_labels(labels: Integers, num_classes: int) -> Integers:
    """Returns for every label another one: the next class, or the end of the range that is farther."""
    known = extreme_labels(num_classes)
    if num_classes == NUMBER:
        return np.asarray(np.where(labels < PARTS, known[1], known[0]))
    return np.asarray((labels + 1) % num_classes)
