"""Principal components from one noisy matrix of second moments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.arrays import Floats
from discreet.quality.intervals import Interval
from discreet.statistics.inversion import within
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

    The noisy matrix is replaced by the nearest one without negative eigenvalues. Intervals are wide enough
    for all components together: noise moves no eigenvalue by more than its largest own (Weyl 1912), and the
    sampling of normal columns none by a larger share of itself than G's largest eigenvalue, if the sample's
    matrix is C^½ (1 + G) C^½ (Ostrowski 1959). Intervals of single eigenvalues would miss those that noise
    drove apart.

    Args:
        moments: of one or more columns.
        of: what to decompose.
        rng: seeded from public numbers, so that everybody gets the same answer.
        level: of the intervals.
        draws: of noise and of samples.
    """
    names = tuple(column.name for column in moments.columns)
    weights = _weights(moments, of) if moments.told else None
    if weights is None:
        return Components(names, ())
    centred = np.array([moments.centered(place) for place in range(1, len(moments.matrix))])
    basis = centred * weights[:, None]  # directions, shape (k, k + 1)
    whole = _positive(basis @ moments.matrix @ basis.T / moments.units)
    noise = math.sqrt(moments.variance) / moments.units
    if not np.trace(whole) > 2 * noise * np.linalg.norm(basis.T @ basis):
        return Components(names, ())
    shares = _shares_matrix(whole, of)
    errors = basis @ (noise * _symmetric(rng, draws, len(moments.matrix))) @ basis.T
    additive = np.quantile(_norms(_shares_matrix(whole + errors, of) - shares), level)
    relative = np.quantile(_norms(_symmetric(rng, draws, len(names))), level) * math.sqrt(2 / moments.units)
    values, vectors = np.linalg.eigh(shares)
    each = zip(values[::-1].tolist(), vectors.T[::-1], strict=True)
    return Components(
        names,
        tuple(
            Component(_signed(vector), _reaching(value, math.hypot(additive, relative * value)))
            for value, vector in each
        ),
    )


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


def _symmetric(rng: np.random.Generator, draws: int, size: int) -> Floats:
    """Returns symmetric matrices of normal numbers with variance 1 on the diagonal and 1/2 beside it."""
    plain = rng.normal(size=(draws, size, size))
    return (plain + plain.transpose(0, 2, 1)) / 2


def _shares_matrix(matrices: Floats, of: str) -> Floats:
    """Returns matrices whose eigenvalues are shares of the variance."""
    diagonals = np.maximum(np.diagonal(matrices, axis1=-2, axis2=-1), 1e-300)
    if of == "covariance":
        covariances: Floats = matrices / diagonals.sum(axis=-1)[..., None, None]
        return covariances
    roots = np.sqrt(diagonals)
    correlations: Floats = matrices / (roots[..., :, None] * roots[..., None, :]) / matrices.shape[-1]
    return correlations


def _norms(matrices: Floats) -> Floats:
    """Returns the largest eigenvalues by size."""
    found: Floats = np.abs(np.linalg.eigvalsh(matrices)).max(axis=1)
    return found


def _reaching(value: float, half: float) -> Interval:
    return within(Interval(value, value - half, value + half), 0.0, 1.0)


def _signed(vector: Floats) -> tuple[float, ...]:
    largest = vector[np.argmax(np.abs(vector))]
    return tuple((vector * (1.0 if largest >= 0 else -1.0)).tolist())
