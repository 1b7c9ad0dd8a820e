"""Public bounds on the length of a record: each record is scaled by itself, never by its neighbours."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import Float32s, Floats
from discreet.errors import DataError, UnusableRecords

# Far from where float32 ends: a record that its bound lifts over the edge would show itself by an error.
SMALLEST_NORM_BOUND, LARGEST_NORM_BOUND = 2.0**-40, 2.0**40
# Rounding a coordinate to float32 lengthens it by a factor of at most 1 + 2^-24 (or by a denormal);
# shortening by 2^-22 beforehand leaves room for both and for the float64 arithmetic.
_ROUNDING_ROOM = 1.0 - 2.0**-22
_ROWS_AT_A_TIME = 2000
_APART = 1e-3  # of the bound: scaled records may have been kept in fewer digits


def scale_to_norm(features: Floats | Float32s, bound: float) -> Float32s:
    r"""Returns each record scaled to L2 norm ``bound``, never above it even after rounding to float32.

    Guarantee:
        Row j of the result depends on row j of ``features`` only, so adding or removing a record changes
        no other record. The exact norm of every float32 row is in ``[bound * (1 - 2^-21), bound]``.

    Args:
        features: shape ``(n, d)``, no zero row (append a constant feature first).
        bound: the public R.

    Returns:
        Shape ``(n, d)``, float32.

    Raises:
        DataError: if ``bound`` is outside [2^-40, 2^40], or a row is zero or not finite.

    Example:
        >>> scale_to_norm(np.array([[3.0, 4.0]]), bound=1.0).round(3).tolist()
        [[0.6000000238418579, 0.800000011920929]]
    """
    if not SMALLEST_NORM_BOUND <= bound <= LARGEST_NORM_BOUND:
        raise DataError(f"the norm bound must be from 2^-40 to 2^40; got {bound}.")
    # One layout for any number of rows: in another, a row's squares would be added up in another order.
    rows = np.ascontiguousarray(features, dtype=np.float64)
    # The largest coordinate first: squares of very long or very short records would leave float64.
    largest = np.abs(rows).max(axis=1, keepdims=True)
    unusable = int((~(np.isfinite(largest) & (largest > 0))).sum())
    if unusable:
        raise UnusableRecords(
            "every record must be finite and not all zero to be scaled; "
            f"{unusable} of {len(features)} records are not."
        )
    direction = rows / largest
    norms = np.linalg.norm(direction, axis=1, keepdims=True)
    scaled: Floats = direction * (bound * _ROUNDING_ROOM / norms)
    return scaled.astype(np.float32)


def with_constant(features: Floats) -> Floats:
    """Returns the records flattened, with a last feature 1 in place of a model's bias; ``(n, d + 1)``."""
    flat = features.reshape(len(features), math.prod(features.shape[1:]))
    return np.concatenate([flat, np.ones((len(flat), 1))], axis=1)


def scaled_with_constant(features: npt.NDArray[np.floating], bound: float) -> Float32s:
    """Returns `scale_to_norm` of `with_constant`, a few rows at a time: float64 copies of all would not fit.

    Args:
        features: shape ``(n, ...)``.
        bound: the public R.

    Returns:
        Shape ``(n, d + 1)`` where d counts the features of a record.
    """
    flat = math.prod(features.shape[1:])
    scaled = np.empty((len(features), flat + 1), dtype=np.float32)
    for first in range(0, len(features), _ROWS_AT_A_TIME):
        rows = slice(first, first + _ROWS_AT_A_TIME)
        scaled[rows] = scale_to_norm(with_constant(features[rows].astype(np.float64)), bound)
    return scaled


def seems_scaled(rows: npt.NDArray[Any], bound: float) -> bool:
    """Says whether rows of numbers, shape ``(n, d)``, may come from `scaled_with_constant`.

    Each then has length ``bound``, nearly, and a positive constant; a table's own numbers hardly ever do.

    Example:
        >>> made = scaled_with_constant(np.array([[61.0, 1.0], [48.0, 0.0]]), 1.0)
        >>> seems_scaled(made, 1.0), seems_scaled(np.array([[61.0, 1.0, 1.0]]), 1.0)
        (True, False)
    """
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    return bool(np.all(np.abs(lengths - bound) <= _APART * bound) and np.all(rows[:, -1] > 0))


def largest_norm(features: Float32s) -> float:
    """Returns the largest L2 norm of a record in float64 arithmetic; 0 if there is no record."""
    axes, largest = tuple(range(1, features.ndim)), 0.0
    for first in range(0, len(features), _ROWS_AT_A_TIME):
        part = features[first : first + _ROWS_AT_A_TIME]
        squares = np.square(part, dtype=np.float64).sum(axis=axes)
        largest = float(squares.max(initial=largest))
    return math.sqrt(largest)
