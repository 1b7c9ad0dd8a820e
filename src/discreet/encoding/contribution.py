"""One silo's whole way from update to ring vector, in chunks: rotate, scale, round, add noise, reduce."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.encoding.codec import check_rotation, check_update
from discreet.encoding.grid import Grid
from discreet.encoding.ring import to_ring
from discreet.encoding.rotation import Rotation
from discreet.encoding.rounding import round_dithered
from discreet.mechanisms import sample_share
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

    The same as encoding, adding one share of ``law`` and reducing, without three full-length intermediates:
    beside the update there are only the result (uint32 where the ring fits it) and, if the grid is rotated,
    one rotated copy. The noise is drawn by the same sampler; the bits are consumed in another order.

    Raises:
        ConfigurationError, PrivacyViolation: as `encode`.
    """
    check_update(update, grid)
    check_rotation(grid, rotation)
    vector = update if rotation is None else rotation.forward(update)
    out: npt.NDArray[np.uint32] | npt.NDArray[np.uint64]
    if grid.bits <= 32:
        out = np.empty(grid.dimension, dtype=np.uint32)
    else:
        out = np.empty(grid.dimension, dtype=np.uint64)
    for start in range(0, grid.dimension, _CHUNK):
        part = slice(start, min(start + _CHUNK, grid.dimension))
        values = round_dithered(vector[part] * np.float64(grid.scale), randomness)
        values += sample_share(law, len(values), randomness, workers=workers)
        out[part] = to_ring(values, grid.bits)
    return out
