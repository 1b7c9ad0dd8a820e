"""Centring and projecting records by announced values: a public map of one record that never lengthens it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Float32s, Floats
from discreet.data.norm import scale_to_norm

# Of the bound: the constant of a record is taken to be at least this, so that no record is all zeros.
_LEAST_CONSTANT = 2.0**-40
_ROWS_AT_A_TIME = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """A map from records of d features, the last a constant, to records of k + 1, the last a constant.

    Guarantee:
        That of `discreet.data.record_map.RecordMap`, for any values: a record is scaled to the bound behind
        it, so that its length does not hang on what was announced. All of it is elementwise in float64, one
        feature after the other: a matrix product may treat a row differently among others.

    Attributes:
        center: in units of the bound, what is taken off; shape ``(k,)``, along the directions.
        norm_bound: R, to which records were scaled, and are again.
        directions: shape ``(k, d - 1)``; None keeps all features.
    """

    center: Floats
    norm_bound: float
    directions: Floats | None = None

    @staticmethod
    def announced(values: Floats, norm_bound: float, *, shape: tuple[int, int], project: bool) -> Projection:
        """Returns the map of announced values; what is no number counts as 0, what is above 1 as 1.

        Args:
            values: a direction in every row, and the centre along it in the last column; or without
                ``project`` a single row, the centre.
            norm_bound: R.
            shape: of ``values``.
            project: whether there are directions.

        Raises:
            ValueError: if they have another shape.
        """
        if values.shape != shape:
            raise ValueError(f"what is announced must have the shape {shape}; got {values.shape}")
        bounded = np.clip(np.nan_to_num(values, nan=0.0), -1.0, 1.0)
        if not project:
            return Projection(bounded[0], norm_bound)
        return Projection(bounded[:, -1], norm_bound, bounded[:, :-1])

    @property
    def least_constant(self) -> float:
        """What a record's constant is at least taken to be."""
        return _LEAST_CONSTANT * self.norm_bound

    def features(self, features: Float32s) -> Float32s:
        """Returns the mapped records of records of shape ``(n, d)``; shape ``(n, k + 1)``."""
        found = np.empty((len(features), len(self.center) + 1), dtype=np.float32)
        for first in range(0, len(features), _ROWS_AT_A_TIME):
            rows = slice(first, first + _ROWS_AT_A_TIME)
            found[rows] = self._mapped(features[rows])
        return found

    def _mapped(self, features: Float32s) -> Float32s:
        columns = np.ascontiguousarray(features.T, dtype=np.float64)
        made = np.zeros((len(self.center) + 1, len(features)))
        if self.directions is None:
            made[:-1] = columns[:-1]
        else:
            for values, weights in zip(columns[:-1], self.directions.T, strict=True):
                made[:-1] += weights[:, None] * values
        made[:-1] -= self.norm_bound * self.center[:, None]
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
