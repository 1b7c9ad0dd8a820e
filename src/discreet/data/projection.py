"""Projecting records by announced values: a public map of one record that never lengthens it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Float32s, Floats
from discreet.data.norm import scale_to_norm

FARTHEST_CENTER = 2.0**20
"""No value of a map is larger: a centre, in units of the constant, that is farther away is none."""

# Of the bound: the constant of a record is taken to be at least this, so that no record is all zeros.
_LEAST_CONSTANT = 2.0**-40
_ROWS_AT_A_TIME = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """A map from records of d features, the last a constant, to records of k + 1, the last a constant.

    Guarantee:
        That of `discreet.data.record_map.RecordMap`, for any matrix: a record is scaled to the bound behind
        it, so that its length does not hang on what was announced. All of it is elementwise in float64, one
        feature after the other: a matrix product may treat a row differently among others.

    Attributes:
        matrix: of shape ``(k, d)``: directions, and in the last column where their centres are.
        norm_bound: R, to which records were scaled, and are again.
    """

    matrix: Floats
    norm_bound: float

    @staticmethod
    def announced(values: Floats, *, shape: tuple[int, int], norm_bound: float) -> Projection:
        """Returns the map of announced values; what is no number counts as 0, and what is too large is cut.

        Raises:
            ValueError: if they have another shape.
        """
        if values.shape != shape:
            raise ValueError(f"a projection must have the shape {shape}; got {values.shape}")
        matrix = np.clip(np.nan_to_num(values, nan=0.0), -FARTHEST_CENTER, FARTHEST_CENTER)
        return Projection(matrix, norm_bound)

    @property
    def least_constant(self) -> float:
        """What a record's constant is at least taken to be."""
        return _LEAST_CONSTANT * self.norm_bound

    def features(self, features: Float32s) -> Float32s:
        """Returns the projected records of records of shape ``(n, d)``; shape ``(n, k + 1)``."""
        found = np.empty((len(features), len(self.matrix) + 1), dtype=np.float32)
        for first in range(0, len(features), _ROWS_AT_A_TIME):
            rows = slice(first, first + _ROWS_AT_A_TIME)
            found[rows] = self._projected(features[rows])
        return found

    def _projected(self, features: Float32s) -> Float32s:
        columns = np.ascontiguousarray(features.T, dtype=np.float64)
        made = np.zeros((len(self.matrix) + 1, len(features)))
        for values, weights in zip(columns, self.matrix.T, strict=True):
            made[:-1] += weights[:, None] * values
        made[-1] = np.maximum(columns[-1], self.least_constant)
        return scale_to_norm(made.T, self.norm_bound)


def hashed(shape: tuple[int, int]) -> Floats:
    """Returns a projection that knows nothing of records, of shape ``(k, d)``: orthonormal, and not centred.

    Every feature is added, with a sign, to one of k sums (feature hashing; Weinberger et al. 2009).
    """
    components, features = shape
    found = np.zeros(shape)
    for place in range(features - 1):
        sign = 1.0 - 2.0 * (hashlib.sha256(str(place).encode()).digest()[0] & 1)
        found[place % components, place] = sign
    lengths: Floats = np.sqrt((found**2).sum(axis=1, keepdims=True))
    return found / lengths
