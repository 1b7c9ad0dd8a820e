"""Turning cells into features by public rules: ranges and categories that are known before any record is.

A range or a list of categories that was computed from the records (their minimum, mean or quantiles) would
reveal something about them that no noise covers. Every rule here reads one row at a time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.data.table import Table
from discreet.errors import DataError


@dataclass(frozen=True, slots=True)
class Numeric:
    """A number, clipped into the public range [``low``, ``high``] and mapped onto [-1, 1].

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
        if not -math.inf < self.low < self.high < math.inf:
            raise DataError(
                f"the range of column {self.column!r} must be [low, high] with low < high; "
                f"got [{self.low}, {self.high}]."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """The features that this column becomes."""
        if self.not_measured is None:
            return (self.column,)
        return (self.column, f"{self.column} not measured")

    def encode(self, table: Table) -> npt.NDArray[np.float64]:
        """Returns the features, shape ``(n, 1)`` or ``(n, 2)``."""
        numbers = table.numbers(self.column)
        position = np.clip((numbers - self.low) / (self.high - self.low), 0.0, 1.0)
        scaled = 2.0 * position - 1.0
        if self.not_measured is None:
            return scaled[:, None]
        absent = numbers == self.not_measured
        return np.stack([np.where(absent, 0.0, scaled), absent.astype(np.float64)], axis=1)


@dataclass(frozen=True, slots=True)
class Categories:
    """One of a public list of texts, as one indicator for each; no other text may occur.

    Attributes:
        column: name of the column.
        values: the texts that get an indicator.
        baseline: a further text that may occur and gets none, such as "normal"; None: there is none.
    """

    column: str
    values: tuple[str, ...]
    baseline: str | None = None

    def __post_init__(self) -> None:
        if not (self.values and len({*self.values, self.baseline}) == len(self.values) + 1):
            raise DataError(f"the categories of column {self.column!r} must be distinct and at least one.")

    @property
    def names(self) -> tuple[str, ...]:
        """The features that this column becomes."""
        return tuple(f"{self.column} = {value}" for value in self.values)

    def encode(self, table: Table) -> npt.NDArray[np.float64]:
        """Returns the indicators, shape ``(n, len(values))``."""
        texts = self.values if self.baseline is None else (*self.values, self.baseline)
        indicators = np.eye(len(texts), len(self.values))
        return indicators[category_numbers(table, self.column, texts)]


@dataclass(frozen=True, slots=True)
class Contrast:
    """One of two public texts as one feature: ``negative`` is -1, ``positive`` is 1."""

    column: str
    negative: str
    positive: str

    @property
    def names(self) -> tuple[str, ...]:
        """The feature that this column becomes."""
        return (f"{self.column} = {self.positive}",)

    def encode(self, table: Table) -> npt.NDArray[np.float64]:
        """Returns the feature, shape ``(n, 1)``."""
        numbers = category_numbers(table, self.column, (self.negative, self.positive))
        return 2.0 * numbers[:, None].astype(np.float64) - 1.0


Column = Numeric | Categories | Contrast


def category_numbers(table: Table, column: str, values: Sequence[str]) -> npt.NDArray[np.int64]:
    """Returns for every cell its place in ``values``, shape ``(n,)``.

    Raises:
        DataError: if a cell is none of them; it counts the rows.
    """
    place = {value: number for number, value in enumerate(values)}
    numbers = np.array([place.get(cell, -1) for cell in table.column(column)], dtype=np.int64)
    unknown = int((numbers < 0).sum())
    if unknown:
        raise DataError(
            f"{table.name}, column {column!r}: every cell must be one of {', '.join(values)}; "
            f"{unknown} of {len(table)} rows hold something else. Name every category, or remove these rows."
        )
    return numbers


def encode(table: Table, columns: Sequence[Column]) -> tuple[npt.NDArray[np.float64], tuple[str, ...]]:
    """Returns the features of all columns side by side, shape ``(n, d)``, and their names."""
    parts = [column.encode(table) for column in columns]
    return np.concatenate(parts, axis=1), tuple(name for column in columns for name in column.names)
