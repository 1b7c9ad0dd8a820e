"""What a user may give as a feature map, and maps that fail on some record."""

from __future__ import annotations

import numpy as np


def edges(record: np.ndarray) -> np.ndarray:
    """Returns differences of neighbours, and one feature that overflows float32."""
    return np.concatenate([np.diff(record, axis=0).ravel(), [1e300 * float(record.max())]])


def unruly(record: np.ndarray) -> object:
    """Raises, grows or returns text for crafted records; for others it gives the rows' sums."""
    match int(record.flat[0]):
        case 1:
            raise RuntimeError("a record")
        case 2:
            return np.ones(1)
        case 3:
            return "text"
        case _:
            return record.sum(axis=1)


def no_vector(record: np.ndarray) -> object:
    """Returns the record as it is, which is no vector."""
    return record


def spoils(record: np.ndarray) -> np.ndarray:
    """Writes into what it was given, and returns what it held."""
    held = record.ravel().copy()
    record[:] = 7.0
    return held
