"""Means, standard deviations and correlations from one noisy matrix of second moments.

The noise of the matrix S = Σ x xᵀ is symmetric, with variance w on its diagonal and w/2 beside it (a block
holds x_i² and √2 x_i x_j). So its law is that of the Gaussian orthogonal ensemble, which no rotation changes,
and for every symmetric M the noise of ⟨M, S⟩ has the variance w‖M‖². Everything below follows from this.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats
from discreet.quality.intervals import Interval
from discreet.statistics.counts import noisy_count
from discreet.statistics.inversion import around, normal_quantile, not_rejected, within
from discreet.statistics.rows import Row, interval_row


@dataclass(frozen=True, slots=True)
class Column:
    """How a coordinate t of a block is read in the column's own units: ``center + half * t``."""

    name: str
    center: float
    half: float

    @staticmethod
    def ranged(name: str, low: float, high: float) -> Column:
        """Returns a number between ``low`` and ``high``, which were −1 and 1 in the block."""
        return Column(name, (low + high) / 2, (high - low) / 2)

    @staticmethod
    def indicator(name: str) -> Column:
        """Returns a column of 0 and 1, which were the same in the block."""
        return Column(name, 0.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """A noisy Σ x xᵀ of x = (1, t_1 … t_k).

    Attributes:
        columns: of t_1 … t_k.
        matrix: shape ``(k + 1, k + 1)``, symmetric.
        variance: of the noise of a diagonal entry; of another entry half of it.
    """

    columns: tuple[Column, ...]
    matrix: Floats
    variance: float

    @property
    def units(self) -> float:
        """The noisy number of units."""
        return float(self.matrix[0, 0])

    @property
    def told(self) -> bool:
        """Whether the number of units stands out from its noise; without it nothing else can be told."""
        return self.units > max(1.0, 2 * math.sqrt(self.variance))

    def centered(self, column: int) -> Floats:
        """Returns a with aᵀx = t_column less its mean; needs ``told``. Columns are counted from 1."""
        direction = np.zeros(len(self.matrix))
        direction[column] = 1.0
        direction[0] = -float(np.clip(self.matrix[0, column] / self.units, -1.0, 1.0))
        return direction


@dataclass(frozen=True, slots=True)
class Summary:
    """Means, standard deviations and correlations, in the columns' own units, of the population.

    Attributes:
        units: the number of units in these records; noise only.
        names: of the columns.
        means: one for each column; None where it cannot be told, as below.
        deviations: standard deviations.
        correlations: of each pair of columns i < j, by their names.
    """

    units: Interval
    names: tuple[str, ...]
    means: tuple[Interval | None, ...]
    deviations: tuple[Interval | None, ...]
    correlations: dict[tuple[str, str], Interval | None]

    def rows(self) -> tuple[Row, ...]:
        """Returns the number of units, then the means, the deviations and the correlations."""
        means = zip(self.names, self.means, strict=True)
        deviations = zip(self.names, self.deviations, strict=True)
        return (
            interval_row("count", self.units),
            *(interval_row(f"{name}: mean", found) for name, found in means),
            *(
                interval_row(f"{name}: standard deviation", found, _hidden(found))
                for name, found in deviations
            ),
            *(interval_row(f"{a}, {b}: correlation", found) for (a, b), found in self.correlations.items()),
        )


def _hidden(deviation: Interval | None) -> str:
    """Says what a deviation of 0 means: noise made the variance negative, and no spread was measured."""
    return "no spread stands out from the noise" if deviation is not None and deviation.value == 0.0 else ""


def read_moments(
    sums: Floats, variance: float, columns: Sequence[Column], *, squared_radius: float
) -> Moments:
    """Returns the matrix that a block holds.

    Args:
        sums: x_i² for i = 0 … k, then √2 x_i x_j for i < j by rows, all divided by ``squared_radius``; length
            ``(k + 1)(k + 2) / 2``.
        variance: of the noise of each of them.
        columns: of t_1 … t_k; x_0 is 1.
        squared_radius: the largest ‖x‖²; k + 1 for k numbers, 1 + the number of columns with indicators.
    """
    size = len(columns) + 1
    matrix = np.diag(np.asarray(sums[:size], dtype=np.float64))
    upper = np.triu_indices(size, 1)
    matrix[upper] = sums[size:] / math.sqrt(2)
    matrix.T[upper] = matrix[upper]
    return Moments(tuple(columns), matrix * squared_radius, variance * squared_radius**2)


def summary(moments: Moments, *, level: float = 0.95) -> Summary:
    """Returns means, standard deviations and correlations.

    A block has no fourth moments: the sampling of deviations and correlations is that of normal columns.
    Means need no such assumption.
    """
    reach, places = normal_quantile(level), range(1, len(moments.matrix))
    names = tuple(column.name for column in moments.columns)
    return Summary(
        units=noisy_count(moments.units, moments.variance, level),
        names=names,
        means=tuple(_mean(moments, place, reach) for place in places),
        deviations=tuple(_deviation(moments, place, reach) for place in places),
        correlations={
            (names[i - 1], names[j - 1]): _correlation(moments, i, j, reach)
            for i in places
            for j in places
            if i < j
        },
    )


def spread(moments: Moments, direction: Floats) -> float:
    """Returns aᵀSa / n, the variance along a centred direction a; never below 0."""
    return max(0.0, float(direction @ moments.matrix @ direction) / moments.units)


def _mean(moments: Moments, place: int, reach: float) -> Interval | None:
    """Returns Fieller's interval: if μ is true, S_0j − μn has the variance n·σ² + w/2 + wμ²."""
    if not moments.told:
        return None
    sampling = spread(moments, moments.centered(place)) * moments.units
    curvature = (moments.variance, 0.0, moments.variance / 2 + sampling)
    found = not_rejected(float(moments.matrix[0, place]), moments.units, reach, curvature=curvature)
    column = moments.columns[place - 1]
    return (
        None
        if found is None
        else Interval(*(column.center + column.half * t for t in within(found, -1.0, 1.0)))
    )


def _deviation(moments: Moments, place: int, reach: float) -> Interval | None:
    """Returns the root of Fieller's interval of the variance q.

    With a the centred direction, aᵀSa − qn has the noise variance w‖aaᵀ − q e_0 e_0ᵀ‖² and the sampling
    variance 2nq² of normal columns.
    """
    if not moments.told:
        return None
    direction = moments.centered(place)
    squares, weight = float(direction @ direction), moments.variance
    curvature = (weight + 2 * moments.units, -2 * weight * float(direction[0]) ** 2, weight * squares**2)
    top = max(0.0, float(direction @ moments.matrix @ direction))
    found = not_rejected(top, moments.units, reach, curvature=curvature)
    half = moments.columns[place - 1].half
    # A variance in [-1, 1] is at most 1 (Popoviciu).
    return None if found is None else Interval(*(half * math.sqrt(q) for q in within(found, 0.0, 1.0)))


def _correlation(moments: Moments, first: int, second: int, reach: float) -> Interval | None:
    """Returns ρ, with its error to first order: ⟨M, noise⟩/n + normal sampling (1 − ρ²)²/n.

    M = sym(uvᵀ) − ρ/2 (uuᵀ + vvᵀ), where u and v are the centred directions of variance 1.
    """
    if not moments.told:
        return None
    directions = [moments.centered(place) for place in (first, second)]
    spreads = [spread(moments, direction) for direction in directions]
    noise = [math.sqrt(moments.variance) * float(a @ a) / moments.units for a in directions]
    if any(q <= 2 * error or q == 0 for q, error in zip(spreads, noise, strict=True)):
        return None
    u, v = (a / math.sqrt(q) for a, q in zip(directions, spreads, strict=True))
    rho = float(np.clip(u @ moments.matrix @ v / moments.units, -1.0, 1.0))
    lever = (np.outer(u, v) + np.outer(v, u)) / 2 - rho / 2 * (np.outer(u, u) + np.outer(v, v))
    noisy = moments.variance * float((lever**2).sum()) / moments.units**2
    half = reach * math.sqrt(noisy + (1 - rho**2) ** 2 / moments.units)
    return within(around(rho, rho - half, rho + half), -1.0, 1.0)
