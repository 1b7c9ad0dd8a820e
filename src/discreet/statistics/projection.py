"""The leading directions of records, from one noisy matrix of second moments (Dwork et al. 2014).

Records u have norm 1 and end with a constant c; S = Σ u uᵀ and its noise is symmetric, of variance w on the
diagonal and w/2 beside it. The best multiple of the constant in every other feature, m = S_·c / S_cc, is
taken off. What is left has the second moments S_·· − S_·c S_c· / S_cc, whose leading eigenvectors are the
directions.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from discreet.arrays import Floats

# The noise that a centre brings into a record may be so long; where it would be longer, nothing is centred.
_MOST_NOISE = 0.25
# What stands out less from its noise is noise.
_STANDS_OUT = 4.0
# Announced values are multiples of this: the same on machines whose last bits differ.
_GRID = 2.0**-24


def directions(sums: Floats, variance: float, *, shape: tuple[int, int], farthest: float) -> Floats:
    """Returns the directions V of most variance, and behind them minus their centres Vm.

    Args:
        sums: u_i², then √2 u_i u_j for i < j by rows; length ``d (d + 1) / 2``.
        variance: w, of the noise of each.
        shape: ``(k, d)`` with k < d.
        farthest: no centre's coordinate is larger; nothing is centred where one would be.

    Returns:
        Of ``shape``: k rows, orthonormal but for rounding without the last column.
    """
    return _directions(sums.astype(np.float64).tobytes(), variance, *shape, farthest).copy()


@lru_cache(maxsize=4)
def _directions(sums: bytes, variance: float, components: int, features: int, farthest: float) -> Floats:
    moments = symmetric(np.frombuffer(sums), features)
    center = _center(moments, variance, farthest)
    inner = moments[:-1, :-1] - np.outer(center, center) * moments[-1, -1]
    _, vectors = np.linalg.eigh(inner)
    found = vectors[:, ::-1][:, :components].T
    # An eigenvector has no sign of its own.
    largest = np.take_along_axis(found, np.abs(found).argmax(axis=1)[:, None], axis=1)
    found = np.round(found * np.where(largest < 0.0, -1.0, 1.0) / _GRID) * _GRID
    shift = np.clip(np.round(found @ center / _GRID) * _GRID, -farthest, farthest)
    return np.column_stack([found, -shift])


def symmetric(sums: Floats, features: int) -> Floats:
    """Returns the matrix of second moments, shape ``(features, features)``."""
    matrix = np.diag(sums[:features])
    upper = np.triu_indices(features, 1)
    matrix[upper] = sums[features:] / math.sqrt(2.0)
    matrix.T[upper] = matrix[upper]
    return matrix


def _center(moments: Floats, variance: float, farthest: float) -> Floats:
    """Returns m, or zeros where its noise would be seen in records, or there is no constant to speak of."""
    units, constant = float(np.trace(moments)), float(moments[-1, -1])
    none = np.zeros(len(moments) - 1)
    if not (units > 0.0 and constant > _STANDS_OUT * math.sqrt(variance)):
        return none
    # Of length in a record: √(w d / 2) / S_cc for each unit of the constant, whose mean square is S_cc / n.
    noise = math.sqrt(variance * len(none) / (2.0 * constant * units))
    center: Floats = moments[:-1, -1] / constant
    return center if noise <= _MOST_NOISE and np.abs(center).max() <= farthest else none
