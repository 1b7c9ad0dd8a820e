r"""L = −ln U for uniforms given by endless bit strings: fast, in extended precision, and as intervals.

The first 64 bits of U are known, so that U lies in [w, w + 1)·2^-64. With u = 2^-53, `neg_log` reads U as a
float64 of relative error u, at most 2^-63 below the real one: it is off by at most u + 2^-63/U + 8uL, where
the last term takes `numpy.log` to be within 4 units in the last place, NumPy's own test bound (CHECKED by the
tests of this module). Uniforms that start with ``MAX_LOW_BITS`` zeros are void: nothing is promised.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.mechanisms.bits import Tails
from discreet.mechanisms.intervals import Interval

Floats = npt.NDArray[np.float64]
Extended = npt.NDArray[np.longdouble]
Words = npt.NDArray[np.uint64]
Indices = npt.NDArray[np.intp]

# x87 extended precision or better; what Windows and macOS on ARM call long double is not.
HAS_EXTENDED = bool(np.finfo(np.longdouble).eps < 2.0**-62)


def neg_log(words: Words) -> Floats:
    """Fast −ln U, off as the module says; the smallest uniforms are clamped, as they are void."""
    uniform = (words >> np.uint64(1)).view(np.int64).astype(np.float64)
    uniform *= 2.0**-63
    np.maximum(uniform, 2.0**-64, out=uniform)
    np.log(uniform, out=uniform)
    return np.negative(uniform, out=uniform)


def extended_neg_log(words: Words) -> tuple[Extended, Extended]:
    """−ln U in extended precision, and a bound on each value's error (infinite without extended precision).

    U and 1 − U are exact here, and their logarithms within 2^-60 relative; the 2^-64 that are unknown of U
    cost 2^-64/U.
    """
    if not HAS_EXTENDED:
        return np.zeros(len(words), np.longdouble), np.full(len(words), np.inf, np.longdouble)
    uniform = np.maximum(np.ldexp(words.astype(np.longdouble), -64), np.ldexp(np.longdouble(1.0), -66))
    rest = np.minimum(np.ldexp((~words).astype(np.longdouble) + np.longdouble(0.5), -64), 0.5)
    values = -np.where(uniform < 0.5, np.log(uniform), np.log1p(-rest))
    errors = 2.0**-60 * values + 2.0**-64 / uniform
    return as_extended(values), as_extended(errors)


def as_extended(values: npt.ArrayLike) -> Extended:
    """The values as extended-precision floats; not a copy if they are already."""
    return np.asarray(values, dtype=np.longdouble)


def exact_neg_log(word: int, tails: Tails, purpose: bytes, index: int, extra_bits: int) -> Interval:
    """−ln U from ``64 + extra_bits`` bits of U."""
    return tails.uniform(word, purpose, index, extra_bits).log() * -1.0
