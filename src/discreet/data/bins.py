"""Numbers as public bins: one indicator a bin, so that a linear head is an additive model of steps."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from discreet.arrays import Floats
from discreet.data.table import Table, cells_note
from discreet.data.unusable import Unusable, accept_in_numbers, clipped_note
from discreet.errors import DataError

MOST_BINS = 1024
"""A column has at most so many: every bin is a weight, and a name in what is released."""


@dataclass(frozen=True, slots=True)
class Bins:
    """A number, clipped into the public range [``low``, ``high``], as one indicator for each bin.

    A bin holds its lower edge; the last one holds both. A cell that holds no finite number has all
    indicators 0.

    Attributes:
        column: name of the column.
        low: publicly known plausible minimum.
        high: publicly known plausible maximum.
        cuts: the edges between bins, publicly known, increasing and strictly between ``low`` and ``high``.
        missing: whether a cell that holds no finite number has an indicator of its own.
    """

    column: str
    low: float
    high: float
    cuts: tuple[float, ...]
    missing: bool = False

    def __post_init__(self) -> None:
        edges = (self.low, *self.cuts, self.high)
        rising = all(before < after for before, after in pairwise(edges))
        if not (self.cuts and rising and -math.inf < self.low and self.high < math.inf):
            raise DataError(
                f"the bins of column {self.column!r} must have edges that increase, all finite and two bins "
                f"at least; got {list(edges)}. Change bins or ranges."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The features that this column becomes."""
        edges = (self.low, *self.cuts, self.high)
        bins = tuple(f"{self.column} {low:.12g} to {high:.12g}" for low, high in pairwise(edges))
        return (*bins, f"{self.column} missing") if self.missing else bins

    def encode(self, table: Table) -> tuple[Floats, Unusable]:
        """Returns the indicators, shape ``(n, len(names))``, and what could not be read."""
        numbers = table.numbers(self.column)
        unread = np.isnan(numbers)
        # NaN is put last, where the indicator of a missing cell is; without one, it is cut off.
        places = np.searchsorted(np.array(self.cuts), numbers, side="right")
        places[unread] = len(self.cuts) + 1
        indicators = np.zeros((len(numbers), len(self.cuts) + 2))
        indicators[np.arange(len(numbers)), places] = 1.0
        blank = np.array([not cell for cell in table.column(self.column)], dtype=np.bool_) & unread
        told = unread & ~blank if self.missing else unread
        outside = (numbers < self.low) | (numbers > self.high)
        found = Unusable(int(told.sum()), int((blank & told).sum()), int(outside.sum()))
        return indicators[:, : len(self.names)], found

    def notes(self, name: str, rows: int, found: Unusable) -> tuple[str, ...]:
        """Returns what the owner should know of the column in a file of ``rows`` rows."""
        column = json.dumps(self.column, ensure_ascii=False)
        what = "hold no finite number; they have " + ("the bin of missing ones" if self.missing else "no bin")
        accept = accept_in_numbers(self.column, rows, found, missing=self.missing)
        unread = cells_note(name, rows, self.column, found.unread, what=what, accept=accept)
        limits = f"[{self.low:g}, {self.high:g}]"
        return unread + clipped_note(
            name, rows, self.column, found, limits=limits, knob=f"ranges = {{ {column} = [LOW, HIGH] }}"
        )


def cuts_of(low: float, high: float, stated: int | Sequence[float]) -> tuple[float, ...]:
    """Returns the edges strictly inside a range: of so many bins of equal width, or as stated.

    Raises:
        ValueError: if a stated edge is outside of the range, or they do not increase.

    Example:
        >>> cuts_of(0.0, 10.0, 4), cuts_of(0.0, 99.0, [0, 20, 35])
        ((2.5, 5.0, 7.5), (20, 35))
    """
    if isinstance(stated, int):
        return tuple(float(edge) for edge in np.linspace(low, high, stated + 1)[1:-1])
    if not all(low <= edge <= high for edge in stated):
        raise ValueError(f"edges must be inside the range [{low:g}, {high:g}]; got {list(stated)}")
    if not all(before < after for before, after in pairwise(stated)):
        raise ValueError(f"edges must increase; got {list(stated)}")
    return tuple(edge for edge in stated if low < edge < high)
