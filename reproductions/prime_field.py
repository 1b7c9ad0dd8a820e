"""Arithmetic modulo the prime 2^31 − 1, for protocols over Lagrange codes; products fit 64 bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

PRIME = 2**31 - 1
Field = npt.NDArray[np.int64]


def random_vector(rng: np.random.Generator, length: int) -> Field:
    """Returns uniform elements."""
    return rng.integers(0, PRIME, length, dtype=np.int64)


def lagrange(known: Sequence[int], at: int) -> list[int]:
    """Returns the weights by which values at the points ``known`` give the polynomial's value at ``at``.

    Example:
        >>> lagrange([1, 2], 3)
        [2147483646, 2]
    """
    weights = []
    for point in known:
        top = bottom = 1
        for other in known:
            if other != point:
                top = top * (at - other) % PRIME
                bottom = bottom * (point - other) % PRIME
        weights.append(top * pow(bottom, -1, PRIME) % PRIME)
    return weights


def value(points: Sequence[int], values: Sequence[Field], at: int) -> Field:
    """Returns the value at ``at`` of the polynomial of least degree through vectors at points."""
    total = np.zeros_like(values[0])
    for weight, vector in zip(lagrange(points, at), values, strict=True):
        total = (total + weight * vector) % PRIME
    return total
