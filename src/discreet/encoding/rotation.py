r"""A public random rotation that spreads an update evenly, so that a narrower ring holds the sum.

Rademacher signs, then a normalised Walsh–Hadamard transform (Ailon and Chazelle 2006). The transform needs a
power of two; instead of padding, it is applied twice: to the first m coordinates and, with fresh signs, to
the last m, where m is the largest power of two ≤ d. Every step is orthogonal, so norms and sensitivities do
not change, and nothing is added to the message.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.errors import ConfigurationError
from discreet.randomness import RandomSource

# One matrix product does six levels of butterflies, on this many coordinates at a time.
_LEVELS = 6
_CHUNK = 1 << 16


def flattened_bound(l2_norm: float, dimension: int, prob: float) -> float:
    r"""Bounds one coordinate of a rotated vector, but for probability ``prob`` over the signs.

    Every coordinate is Σ ±a_i with Σ a_i² ≤ ‖x‖²/m, m > d/2, so that Hoeffding gives
    ‖x‖·√(2 ln(2/prob)/m); the norm itself always bounds it. The vector must not depend on the signs.
    """
    block = _block(dimension)
    return l2_norm * min(1.0, math.sqrt(2.0 * math.log(2.0 / prob) / block))


def rotation_error(dimension: int) -> float:
    r"""Bounds ‖computed rotation − exact rotation‖₂ ÷ ‖x‖₂ in float64.

    A product with the 64 × 64 matrix H of entries ±1/8, themselves rounded, errs by at most 66·2^-53·|H||x|
    (Higham 2002, §3.1), and ‖|H|‖ = 8; there are ⌈log₂(m)/6⌉ such products in each of at most two passes.
    """
    levels = _block(dimension).bit_length() - 1
    num_passes = 1 if dimension == _block(dimension) else 2
    return float(num_passes * -(-levels // _LEVELS) * 530 * 2.0**-53)


@dataclass(frozen=True, slots=True)
class Rotation:
    """One round's rotation: an orthogonal map of R^d, the same for every silo."""

    first_signs: npt.NDArray[np.int8]
    last_signs: npt.NDArray[np.int8]
    dimension: int

    @classmethod
    def drawn(cls, dimension: int, randomness: RandomSource) -> Rotation:
        """Draws a rotation; every party draws the same one from the round's public seed."""
        if not dimension >= 1:
            raise ConfigurationError(f"dimension must be >= 1; got {dimension}.")
        block = _block(dimension)
        return cls(_signs(block, randomness), _signs(block, randomness), dimension)

    def forward(self, vector: Floats) -> Floats:
        """Returns the rotated vector, a new array of shape ``(dimension,)``."""
        out = np.array(vector, dtype=np.float64)
        first, last = self._windows(out)
        first *= self.first_signs
        _hadamard_in_place(first)
        if last is not None:
            last *= self.last_signs
            _hadamard_in_place(last)
        return out

    def inverse(self, vector: Floats) -> Floats:
        """Undoes `forward`, up to float64 rounding; a new array."""
        out = np.array(vector, dtype=np.float64)
        first, last = self._windows(out)
        if last is not None:
            _hadamard_in_place(last)
            last *= self.last_signs
        _hadamard_in_place(first)
        first *= self.first_signs
        return out

    def _windows(self, vector: Floats) -> tuple[Floats, Floats | None]:
        """Views of the first and, unless that is everything, of the last block."""
        block = len(self.first_signs)
        return vector[:block], vector[-block:] if block < self.dimension else None


def _block(dimension: int) -> int:
    """Largest power of two that is at most ``dimension``."""
    return 1 << (dimension.bit_length() - 1)


def _signs(count: int, randomness: RandomSource) -> npt.NDArray[np.int8]:
    """Draws ``count`` independent ±1."""
    bits = np.unpackbits(np.frombuffer(randomness.random_bytes(-(-count // 8)), dtype=np.uint8))[:count]
    return (2 * bits.astype(np.int8) - 1).astype(np.int8)


def _hadamard_in_place(vector: Floats) -> None:
    """The orthonormal Walsh–Hadamard transform of a power-of-two length, in place; its own inverse."""
    remaining = len(vector).bit_length() - 1
    stride = len(vector)
    while remaining > 0:
        # The short step comes first, so that the later ones have rows of whole matrices to multiply.
        levels = remaining % _LEVELS or _LEVELS
        width = 1 << levels
        stride //= width
        matrix = _hadamard_matrix(levels)
        if stride == 1:
            _multiply_rows(vector.reshape(-1, width), matrix)
        else:
            _multiply_columns(vector.reshape(-1, width, stride), matrix)
        remaining -= levels


def _multiply_rows(rows: Floats, matrix: Floats) -> None:
    """Replaces every row by its product with a symmetric matrix, some rows at a time."""
    step = max(1, _CHUNK // rows.shape[1])
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        part[...] = part @ matrix


def _multiply_columns(blocks: Floats, matrix: Floats) -> None:
    """Replaces every column of every block by its product with a matrix, some columns at a time."""
    width, stride = blocks.shape[1:]
    columns = min(stride, max(1, _CHUNK // width))
    step = max(1, _CHUNK // (width * columns))
    for start in range(0, len(blocks), step):
        for left in range(0, stride, columns):
            part = blocks[start : start + step, :, left : left + columns]
            part[...] = np.matmul(matrix, part)


@lru_cache
def _hadamard_matrix(levels: int) -> Floats:
    """The orthonormal Hadamard matrix of order 2^``levels``."""
    matrix = np.ones((1, 1))
    for _ in range(levels):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix / math.sqrt(1 << levels)
