"""One silo's update to integers, and the sum of integers back to an update."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats, Integers
from discreet.encoding.grid import NORM_TOLERANCE, Grid
from discreet.encoding.ring import from_ring
from discreet.encoding.rotation import Rotation
from discreet.encoding.rounding import round_dithered
from discreet.errors import ConfigurationError, PrivacyViolation
from discreet.randomness import RandomSource

_CHUNK = 1 << 16


def encode(
    update: Floats, grid: Grid, randomness: RandomSource, rotation: Rotation | None = None
) -> Integers:
    """Rotates (if the grid says so), scales and rounds one silo's update; no noise, no reduction.

    For grids whose noise comes after the rounding; see `noisy_integers` for the other ones.

    Args:
        update: real units, shape ``(grid.dimension,)``, float64 or float32, norm at most ``grid.silo_bound``.
        grid: the plan's grid.
        randomness: for the dither; secret, fresh.
        rotation: the round's public rotation, exactly if ``grid.rotated``.

    Returns:
        Grid units, shape ``(grid.dimension,)``.

    Raises:
        ConfigurationError: wrong shape or dtype, a rotation that the grid does not have, or a grid whose
            noise must come first.
        PrivacyViolation: a NaN or infinite coordinate, or a norm above ``grid.silo_bound``.
    """
    if grid.noise_first:
        raise ConfigurationError(
            "this grid's sensitivity holds only if noise is added before rounding; got an update to round "
            "without noise. Use noisy_integers, or plan the grid with noise_first=False."
        )
    check_update(update, grid)
    check_rotation(grid, rotation)
    if not update.any():
        # ⌊0 + u⌋ is 0 for every dither: of a thousand clients, most stay out of a round.
        return np.zeros(grid.dimension, dtype=np.int64)
    vector = update if rotation is None else rotation.forward(update)
    out = np.empty(grid.dimension, dtype=np.int64)
    for start in range(0, grid.dimension, _CHUNK):
        part = slice(start, min(start + _CHUNK, grid.dimension))
        out[part] = round_dithered(vector[part] * np.float64(grid.scale), randomness)
    return out


def decode(total: npt.NDArray[np.uint64], grid: Grid, rotation: Rotation | None = None) -> Floats:
    """Returns the sum of updates in real units: centred, divided by the scale, rotated back.

    Raises:
        ConfigurationError: wrong shape or dtype, or a rotation that the grid does not have.
    """
    if total.dtype != np.uint64 or total.shape != (grid.dimension,):
        raise ConfigurationError(
            f"total must be uint64 of shape ({grid.dimension},); got {total.dtype} of shape {total.shape}."
        )
    check_rotation(grid, rotation)
    real = np.empty(grid.dimension)
    for start in range(0, grid.dimension, _CHUNK):
        part = slice(start, start + _CHUNK)
        np.divide(from_ring(total[part], grid.bits), grid.scale, out=real[part])
    return real if rotation is None else rotation.inverse(real)


def check_update(update: Floats, grid: Grid) -> None:
    """Refuses what must not be encoded; see `encode` for the errors."""
    if update.dtype not in (np.float32, np.float64):
        raise ConfigurationError(f"update must be float32 or float64; got {update.dtype}.")
    if update.shape != (grid.dimension,):
        raise ConfigurationError(f"update must have shape ({grid.dimension},); got {update.shape}.")
    square = 0.0
    for start in range(0, grid.dimension, _CHUNK):
        part = update[start : start + _CHUNK].astype(np.float64, copy=False)
        square += float(np.dot(part, part))
    if not math.isfinite(square):
        raise PrivacyViolation("update must be finite; it holds a NaN, an infinity or an overflowing norm.")
    if not math.sqrt(square) <= grid.silo_bound * (1.0 + NORM_TOLERANCE):
        raise PrivacyViolation(
            f"the L2 norm of an update must be at most silo_bound={grid.silo_bound}; this one is larger. "
            "Clip the update, or raise silo_bound in the plan."
        )


def check_rotation(grid: Grid, rotation: Rotation | None) -> None:
    """Refuses a rotation where the grid has none, and the other way round."""
    if (rotation is not None) != grid.rotated:
        raise ConfigurationError(
            f"a rotation must be given exactly if the grid is rotated; got rotated={grid.rotated} and "
            f"{'a' if rotation is not None else 'no'} rotation."
        )
    if rotation is not None and rotation.dimension != grid.dimension:
        raise ConfigurationError(
            f"the rotation must have dimension {grid.dimension}; got {rotation.dimension}."
        )
