r"""Integers times a rational number, each product rounded once, as if in infinite precision.

In float64 with u = 2^-53: v = v₁ + v₂ and f = f₁ + f₂ + δ with |v₂| ≤ u|v|, |f₂| ≤ u|f|, |δ| ≤ u²|f|.
Dekker's product (1971) gives v₁f₁ = p + e exactly, and v·f = p + t with t = e + v₁f₂ + v₂f₁ up to 2^-102·|p|,
the rounding of t included. Where p + t and 2^-100·|p| to either side round to the same float64, that is the
rounded product; elsewhere, about once in 2^46 products, integer division decides.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.arrays import Booleans, Floats, Integers

_CHUNK = 1 << 14
_SPLIT = 2.0**27 + 1.0
_MARGIN = 2.0**-100
# Factors beyond could overflow or underflow in a partial product, integers beyond when read as a float64.
_MAX_EXPONENT = 400
_MAX_INTEGER = np.int64(1 << 62)


def scaled(values: Integers, factor: Fraction) -> Floats:
    """Returns ``values`` · ``factor``, every product the float64 nearest to the exact one; shape ``(d,)``.

    Example:
        >>> scaled(np.array([3, -(2**60) - 1]), Fraction(1, 3)).tolist() == [1.0, -(2**60 + 1) / 3]
        True
    """
    out = np.empty(len(values))
    for start in range(0, len(values), _CHUNK):
        part = slice(start, start + _CHUNK)
        unsure = _scale_fast(values[part], factor, out[part])
        for index in start + np.flatnonzero(unsure):
            out[index] = int(values[index]) * factor.numerator / factor.denominator
    return out


def _scale_fast(values: Integers, factor: Fraction, out: Floats) -> Booleans:
    """Writes the products; returns where they are not certain."""
    if factor == 0 or not abs(math.frexp(float(factor))[1]) < _MAX_EXPONENT:
        return np.ones(len(values), dtype=np.bool_)
    high = float(factor)
    low = float(factor - Fraction(high))
    unsure = (values >= _MAX_INTEGER) | (values <= -_MAX_INTEGER)
    safe = np.where(unsure, 0, values)
    rounded = safe.astype(np.float64)
    rest = (safe - rounded.astype(np.int64)).astype(np.float64)
    product = rounded * high
    tail = _product_error(rounded, high, product) + rounded * low + rest * high
    margin = np.abs(product) * _MARGIN
    np.add(product, tail - margin, out=out)
    unsure |= out != product + (tail + margin)
    # The product of zero and a negative factor is zero, without a sign.
    out += 0.0
    return unsure


def _product_error(x: Floats, y: float, product: Floats) -> Floats:
    """Returns x·y − fl(x·y), exactly (Dekker 1971)."""
    x_high, x_low = _halves(x)
    y_high, y_low = _halves(np.float64(y))
    error = x_high * y_high - product
    error += x_high * y_low
    error += x_low * y_high
    error += x_low * y_low
    return np.asarray(error)


def _halves(x: Floats | np.float64) -> tuple[Floats, Floats]:
    """Splits x into a sum of two numbers of 26 bits (Veltkamp)."""
    shifted = x * _SPLIT
    high = shifted - (shifted - x)
    return np.asarray(high), np.asarray(x - high)
