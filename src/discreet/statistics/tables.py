"""Counts and shares of the cells of a table."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats
from discreet.quality.intervals import Interval
from discreet.statistics.counts import noisy_count
from discreet.statistics.inversion import normal_quantile, not_rejected, within
from discreet.statistics.rows import Row, interval_row


@dataclass(frozen=True, slots=True)
class Axis:
    """A categorical column and the labels of its categories, in the order of the cells."""

    name: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell.

    Attributes:
        name: ``axis=label`` of each axis, joined by a comma.
        count: units in these records; noise only.
        share: of the population that the units were drawn from; None where it cannot be told.
    """

    name: str
    count: Interval
    share: Interval | None

    def rows(self) -> tuple[Row, ...]:
        """Returns the count and the share."""
        count = interval_row(f"{self.name}: count", self.count)
        return count, interval_row(f"{self.name}: share", self.share)


@dataclass(frozen=True, slots=True)
class Table:
    """A histogram, or a contingency table.

    Attributes:
        axes: the columns.
        total: units in these records; noise only.
        cells: in the order of the axes, the last one fastest.
        margins: the cells of each axis alone, in the order of the axes; none for one axis.
    """

    axes: tuple[Axis, ...]
    total: Interval
    cells: tuple[Cell, ...]
    margins: tuple[tuple[Cell, ...], ...]

    def rows(self) -> tuple[Row, ...]:
        """Returns the total, the margins and the cells."""
        cells = (*itertools.chain.from_iterable(self.margins), *self.cells)
        return interval_row("total", self.total), *(row for cell in cells for row in cell.rows())


def table(sums: Floats, variance: float, axes: Sequence[Axis], *, level: float = 0.95) -> Table:
    """Returns what a block with one coordinate for each cell says.

    Args:
        sums: noisy cell counts, as many as the product of the axes' lengths, the last axis fastest.
        variance: of the noise of each cell.
        axes: one or more.
        level: of the intervals.

    Example:
        >>> import numpy as np
        >>> found = table(np.array([30.0, 70.0]), 4.0, [Axis("sex", ("f", "m"))])
        >>> [round(end, 2) for end in found.cells[0].share]
        [0.3, 0.21, 0.4]
    """
    names = [[f"{axis.name}={label}" for label in axis.labels] for axis in axes]
    counts = np.asarray(sums, dtype=np.float64).reshape([len(axis.labels) for axis in axes])
    # The margins of one axis are its cells.
    alone = range(len(axes)) if len(axes) > 1 else range(0)
    margins = []
    for kept in alone:
        summed = counts.sum(axis=tuple(axis for axis in range(len(axes)) if axis != kept))
        merged = counts.size // len(summed)
        margins.append(tuple(_cells(names[kept], summed, merged * variance, level)))
    full = [", ".join(parts) for parts in itertools.product(*names)]
    cells = tuple(_cells(full, counts.ravel(), variance, level))
    total = noisy_count(float(counts.sum()), counts.size * variance, level)
    return Table(tuple(axes), total, cells, tuple(margins))


def _cells(names: Sequence[str], counts: Floats, variance: float, level: float) -> Iterator[Cell]:
    for name, measured in zip(names, counts.tolist(), strict=True):
        share = _share(measured, float(counts.sum()), len(counts), variance, level)
        yield Cell(name, noisy_count(measured, variance, level), share)


def _share(measured: float, total: float, cells: int, variance: float, level: float) -> Interval | None:
    """Returns a cell's share p of the population: Wilson's interval, the noise added.

    If p is true, cell − p·total has the variance n p(1 − p) + v((1 − p)² + (cells − 1) p²): the noise of the
    cell is in the total too. Without noise it is Wilson's interval (1927).
    """
    top = min(max(0.0, measured), max(0.0, total))
    curvature = (cells * variance - total, total - 2 * variance, variance)
    found = not_rejected(top, total, normal_quantile(level), curvature=curvature)
    return None if found is None else within(found, 0.0, 1.0)
