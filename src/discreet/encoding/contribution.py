"""One silo's whole way from update to ring vector: rotate, scale, round, add noise, reduce."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.encoding.codec import encode
from discreet.encoding.grid import Grid
from discreet.encoding.ring import to_ring
from discreet.encoding.rotation import Rotation
from discreet.mechanisms import add_share
from discreet.privacy.events import IntegerNoise
from discreet.randomness import RandomSource

_CHUNK = 1 << 16


def ring_contribution(
    update: npt.NDArray[np.float64],
    grid: Grid,
    law: IntegerNoise,
    randomness: RandomSource,
    rotation: Rotation | None = None,
    *,
    workers: int = 1,
) -> npt.NDArray[np.uint32] | npt.NDArray[np.uint64]:
    """Returns the noisy integers modulo 2^b that a silo hands to secure aggregation.

    Beside the update there are never more than two other vectors of its length: the integers and, if the grid
    is rotated, a rotated copy; then the integers and the result (uint32 where the ring fits it).

    Raises:
        ConfigurationError, PrivacyViolation: as `encode`.
    """
    values = encode(update, grid, randomness, rotation)
    add_share(values, law, randomness, workers=workers)
    out: npt.NDArray[np.uint32] | npt.NDArray[np.uint64]
    if grid.bits <= 32:
        out = np.empty(grid.dimension, dtype=np.uint32)
    else:
        out = np.empty(grid.dimension, dtype=np.uint64)
    for start in range(0, grid.dimension, _CHUNK):
        part = slice(start, start + _CHUNK)
        out[part] = to_ring(values[part], grid.bits)
    return out
