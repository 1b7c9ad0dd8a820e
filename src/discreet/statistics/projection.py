"""The middle of records, and directions of most variance around it, from noisy moments (Dwork et al. 2014).

Records u have norm 1. With s = Σ u, n units and S = Σ u uᵀ the middle is m = s/n, and directions are the
leading eigenvectors of S - n m mᵀ. The last feature of a record is a constant, and in neither.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from discreet.arrays import Floats

# The noise of a middle may be so long; where it would be longer, the middle is 0.
_MOST_NOISE = 0.25
# Announced values are multiples of this: the same on machines whose last bits differ.
_GRID = 2.0**-24


def middle(sums: Floats, variance: float) -> Floats:
    """Returns the mean of records without their constant, of norm at most 1; 0 where noise would hide it.

    Args:
        sums: of (u, 1)/√2, shape ``(d + 1,)``.
        variance: of the noise of each.
    """
    # The last two are the constant of records and their number.
    units, features = float(sums[-1]), sums[:-2]
    none = np.zeros(len(features))
    if not units * _MOST_NOISE > math.sqrt(variance * len(sums)):
        return none
    found: Floats = features / units
    return on_grid(found / max(1.0, float(np.linalg.norm(found))))


def directions(sums: Floats, center: Floats, units: float, components: int) -> Floats:
    """Returns so many directions of most variance around a middle: orthonormal rows, but for rounding.

    Args:
        sums: u_i², then √2 u_i u_j for i < j by rows, and noise; length ``d (d + 1) / 2``.
        center: the middle, shape ``(d - 1,)``.
        units: how many there are.
        components: k.

    Returns:
        Shape ``(k, d - 1)``.
    """
    key = sums.astype(np.float64).tobytes(), center.astype(np.float64).tobytes()
    return _directions(*key, units, components).copy()


@lru_cache(maxsize=4)
def _directions(sums: bytes, center: bytes, units: float, components: int) -> Floats:
    about = np.frombuffer(center)
    moments = symmetric(np.frombuffer(sums), len(about) + 1)[:-1, :-1]
    _, vectors = np.linalg.eigh(moments - max(units, 0.0) * np.outer(about, about))
    found = vectors[:, ::-1][:, :components].T
    # An eigenvector has no sign of its own.
    largest = np.take_along_axis(found, np.abs(found).argmax(axis=1)[:, None], axis=1)
    return on_grid(found * np.where(largest < 0.0, -1.0, 1.0))


def symmetric(sums: Floats, features: int) -> Floats:
    """Returns the matrix of second moments, shape ``(features, features)``."""
    matrix = np.diag(sums[:features])
    upper = np.triu_indices(features, 1)
    matrix[upper] = sums[features:] / math.sqrt(2.0)
    matrix.T[upper] = matrix[upper]
    return matrix


def on_grid(values: Floats) -> Floats:
    """Returns values rounded to multiples of 2^-24."""
    rounded: Floats = np.round(values / _GRID) * _GRID
    return rounded
