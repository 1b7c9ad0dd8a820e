"""Polynomials with rational coefficients: what a sampler's series computes in exact arithmetic.

A function that only adds, multiplies and divides by numbers, called with `Polynomial.variable()`, returns the
polynomial that it evaluates, float64 coefficients taken as the rationals that they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .rounded import magnitude, point, ratio, upper


@dataclass(frozen=True, slots=True)
class Polynomial:
    """Coefficients, constant first."""

    coefficients: tuple[Fraction, ...]

    @classmethod
    def number(cls, value: Fraction | int) -> np.ndarray:
        """One rational number, exact in every operation, as an array of one element."""
        out = np.empty(1, dtype=object)
        out[0] = cls((Fraction(value),))
        return out

    @classmethod
    def variable(cls) -> np.ndarray:
        """x, as the array of one element that a sampler's function takes."""
        out = np.empty(1, dtype=object)
        out[0] = cls((Fraction(0), Fraction(1)))
        return out

    def _of(self, other: Polynomial | float) -> Polynomial:
        return other if isinstance(other, Polynomial) else Polynomial((Fraction(other),))

    def __add__(self, other: Polynomial | float) -> Polynomial:
        a, b = self.coefficients, self._of(other).coefficients
        length = max(len(a), len(b))
        a, b = (c + (Fraction(0),) * (length - len(c)) for c in (a, b))
        return Polynomial(tuple(x + y for x, y in zip(a, b, strict=True)))

    def __mul__(self, other: Polynomial | float) -> Polynomial:
        a, b = self.coefficients, self._of(other).coefficients
        out = [Fraction(0)] * (len(a) + len(b) - 1)
        for i, x in enumerate(a):
            for j, y in enumerate(b):
                out[i + j] += x * y
        return Polynomial(tuple(out))

    def __neg__(self) -> Polynomial:
        return self * -1

    def __sub__(self, other: Polynomial | float) -> Polynomial:
        return self + -self._of(other)

    def __rsub__(self, other: float) -> Polynomial:
        return self._of(other) - self

    def __truediv__(self, other: Polynomial | float) -> Polynomial:
        (divisor,) = self._of(other).coefficients
        return self * (1 / divisor)

    def __rtruediv__(self, other: float) -> Polynomial:
        return self._of(other) / self

    __radd__ = __add__
    __rmul__ = __mul__

    def coefficient(self, power: int) -> Fraction:
        """The coefficient of x^``power``."""
        return self.coefficients[power] if power < len(self.coefficients) else Fraction(0)


def chebyshev_norm(coefficients: list) -> float:
    """Bounds |Σ c_n x^n| on [0, 1] by the sum of its Chebyshev coefficients' magnitudes; c_n are intervals.

    x^n = 2^(1−2n) Σ'_k binom(2n, n−k) T_k(2x − 1), the term k = 0 halved (Mason and Handscomb 2003, section
    2.3).
    """
    total = point(0.0)
    for k in range(len(coefficients)):
        part = point(0.0)
        for n in range(k, len(coefficients)):
            weight = Fraction(math.comb(2 * n, n - k), 2 ** (2 * n - (k > 0)))
            part = part + coefficients[n] * ratio(weight)
        total = total + magnitude(part)
    return upper(total)
