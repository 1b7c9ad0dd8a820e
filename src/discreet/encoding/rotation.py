r"""A public random rotation that spreads an update evenly, so that a narrower ring holds the sum.

Rademacher signs, then a normalised Walsh–Hadamard transform (Ailon and Chazelle 2006). The transform needs a
power of two; instead of padding, it is applied twice: to the first m coordinates and, with fresh signs, to
the last m, where m is the largest power of two ≤ d. Every step is orthogonal, so norms and sensitivities do
not change, and nothing is added to the message.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.errors import ConfigurationError
from discreet.randomness import RandomSource

Vector = npt.NDArray[np.float64]

# One matrix product does six levels of butterflies.
_LEVELS = 6


def flattened_bound(l2_norm: float, dimension: int, prob: float) -> float:
    r"""Bounds one coordinate of a rotated vector, but for probability ``prob`` over the signs.

    Every coordinate is Σ ±a_i with Σ a_i² ≤ ‖x‖²/m, m > d/2, so that Hoeffding gives
    ‖x‖·√(2 ln(2/prob)/m); the norm itself always bounds it. The vector must not depend on the signs.
    """
    block = _block(dimension)
    return l2_norm * min(1.0, math.sqrt(2.0 * math.log(2.0 / prob) / block))


def rotation_error(dimension: int) -> float:
    r"""Bounds ‖computed rotation − exact rotation‖₂ ÷ ‖x‖₂ in float64.

    A product with a 64 × 64 sign matrix errs by at most 64·2^-53·|H||x| (Higham 2002, §3.1), that is
    512·2^-53 relative in L2 after division by √64; ⌈log₂(m)/6⌉ such products a pass, two passes.
    """
    levels = _block(dimension).bit_length() - 1
    passes = 1 if dimension == _block(dimension) else 2
    return passes * (-(-levels // _LEVELS) + 1) * 2.0 ** (9 - 53)


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

    def forward(self, vector: Vector) -> Vector:
        """Returns the rotated vector; shape ``(dimension,)``."""
        out = np.array(vector, dtype=np.float64)
        block = len(self.first_signs)
        out[:block] = _hadamard(out[:block] * self.first_signs)
        if block < self.dimension:
            out[-block:] = _hadamard(out[-block:] * self.last_signs)
        return out

    def inverse(self, vector: Vector) -> Vector:
        """Undoes `forward`, up to float64 rounding."""
        out = np.array(vector, dtype=np.float64)
        block = len(self.first_signs)
        if block < self.dimension:
            out[-block:] = _hadamard(out[-block:]) * self.last_signs
        out[:block] = _hadamard(out[:block]) * self.first_signs
        return out


def _block(dimension: int) -> int:
    """Largest power of two that is at most ``dimension``."""
    return 1 << (dimension.bit_length() - 1)


def _signs(count: int, randomness: RandomSource) -> npt.NDArray[np.int8]:
    """Draws ``count`` independent ±1."""
    bits = np.unpackbits(np.frombuffer(randomness.random_bytes(-(-count // 8)), dtype=np.uint8))[:count]
    return (2 * bits.astype(np.int8) - 1).astype(np.int8)


def _hadamard(vector: Vector) -> Vector:
    """The orthonormal Walsh–Hadamard transform of a power-of-two length; its own inverse."""
    size = len(vector)
    remaining = size.bit_length() - 1
    stride = size
    out = vector
    while remaining > 0:
        levels = min(_LEVELS, remaining)
        width = 1 << levels
        stride //= width
        matrix = _hadamard_matrix(levels)
        out = np.matmul(matrix, out.reshape(-1, width, stride)).reshape(size)
        remaining -= levels
    return out


def _hadamard_matrix(levels: int) -> Vector:
    """The orthonormal Hadamard matrix of order 2^``levels``."""
    matrix = np.ones((1, 1))
    for _ in range(levels):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix / math.sqrt(1 << levels)
