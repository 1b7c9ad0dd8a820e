"""Principal components from one noisy matrix of second moments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.arrays import Floats
from discreet.quality.intervals import Interval
from discreet.statistics.inversion import around, within
from discreet.statistics.moments import Moments, spread
from discreet.statistics.rows import Row, interval_row, number_row

DRAWS = 999


@dataclass(frozen=True, slots=True)
class Component:
    """One principal component.

    Attributes:
        loadings: of the columns in their order; of length 1, the largest one positive.
        explained: its share of the variance.
    """

    loadings: tuple[float, ...]
    explained: Interval


@dataclass(frozen=True, slots=True)
class Components:
    """Principal components, the largest first; none where they cannot be told.

    Attributes:
        names: of the columns.
        components: as many as there are columns.
    """

    names: tuple[str, ...]
    components: tuple[Component, ...]

    def rows(self) -> tuple[Row, ...]:
        """Returns the explained shares and the loadings."""
        if not self.components:
            return (number_row("components", None),)
        return tuple(
            row for place, found in enumerate(self.components, 1) for row in self._rows_of(place, found)
        )

    def _rows_of(self, place: int, found: Component) -> list[Row]:
        loadings = zip(self.names, found.loadings, strict=True)
        return [
            interval_row(f"component {place}: explained share", found.explained),
            *(number_row(f"component {place}: {name}", loading) for name, loading in loadings),
        ]


def components(
    moments: Moments,
    *,
    of: Literal["correlation", "covariance"] = "correlation",
    rng: np.random.Generator,
    level: float = 0.95,
    draws: int = DRAWS,
) -> Components:
    """Returns the principal components of the columns' correlations or covariances, in their own units.

    The noisy matrix is replaced by the nearest one without negative eigenvalues. Intervals are basic
    bootstrap intervals: matrices with the same noise, and the sampling of normal columns, are drawn around
    it.

    Args:
        moments: of one or more columns.
        of: what to decompose.
        rng: seeded from public numbers, so that everybody gets the same answer.
        level: of the intervals.
        draws: matrices to simulate.
    """
    names = tuple(column.name for column in moments.columns)
    weights = _weights(moments, of) if moments.told else None
    if weights is None:
        return Components(names, ())
    basis = _basis(moments) * weights[:, None]
    whole = _positive(basis @ moments.matrix @ basis.T / moments.units)
    values, vectors = np.linalg.eigh(whole)
    noise = math.sqrt(moments.variance) / moments.units
    if not values.sum() > 2 * noise * np.linalg.norm(basis.T @ basis):
        return Components(names, ())
    shares = values[::-1] / values.sum()
    drawn = _shares_of(whole + _errors(moments, whole, basis, rng=rng, draws=draws), of)
    ends = np.quantile(drawn, [(1 + level) / 2, (1 - level) / 2], axis=0)
    lows, highs = 2 * shares - ends
    each = zip(shares.tolist(), lows.tolist(), highs.tolist(), vectors.T[::-1], strict=True)
    return Components(
        names,
        tuple(Component(_signed(vector), within(around(*ends_of), 0.0, 1.0)) for *ends_of, vector in each),
    )


def _basis(moments: Moments) -> Floats:
    """Returns the centred directions, shape ``(k, k + 1)``."""
    return np.array([moments.centered(place) for place in range(1, len(moments.matrix))])


def _weights(moments: Moments, of: str) -> Floats | None:
    """Returns what each column of t is multiplied by before it is decomposed."""
    if of == "covariance":
        return np.array([column.half for column in moments.columns])
    spreads = []
    for place in range(1, len(moments.matrix)):
        direction = moments.centered(place)
        spreads.append(spread(moments, direction))
        if spreads[-1] <= 2 * math.sqrt(moments.variance) * float(direction @ direction) / moments.units:
            return None
    found: Floats = 1 / np.sqrt(spreads)
    return found


def _positive(matrix: Floats) -> Floats:
    values, vectors = np.linalg.eigh(matrix)
    found: Floats = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return found


def _errors(
    moments: Moments, whole: Floats, basis: Floats, *, rng: np.random.Generator, draws: int
) -> Floats:
    """Returns errors of the decomposed matrix, ``(draws, k, k)``: of the noise and of normal sampling."""
    noise = _symmetric(rng, draws, len(moments.matrix)) * math.sqrt(moments.variance) / moments.units
    values, vectors = np.linalg.eigh(whole)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    sampling = _symmetric(rng, draws, len(whole)) * math.sqrt(2 / moments.units)
    # The noise of the number of units scales all entries alike, and shares do not change.
    found: Floats = basis @ noise @ basis.T + root @ sampling @ root.T
    return found


def _symmetric(rng: np.random.Generator, draws: int, size: int) -> Floats:
    """Returns symmetric matrices of normal numbers with variance 1 on the diagonal and 1/2 beside it."""
    plain = rng.normal(size=(draws, size, size))
    return (plain + plain.transpose(0, 2, 1)) / 2


def _shares_of(matrices: Floats, of: str) -> Floats:
    if of == "correlation":
        roots = np.sqrt(np.maximum(np.diagonal(matrices, axis1=1, axis2=2), 1e-9))
        matrices = matrices / (roots[:, :, None] * roots[:, None, :])
    values = np.maximum(np.linalg.eigvalsh(matrices)[:, ::-1], 0.0)
    whole = values.sum(axis=1, keepdims=True)
    equal = np.full_like(values, 1 / values.shape[1])
    found: Floats = np.divide(values, whole, out=equal, where=whole > 0)
    return found


def _signed(vector: Floats) -> tuple[float, ...]:
    largest = vector[np.argmax(np.abs(vector))]
    return tuple((vector * (1.0 if largest >= 0 else -1.0)).tolist())
