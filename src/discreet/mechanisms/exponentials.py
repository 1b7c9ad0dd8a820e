r"""L = −ln U for uniforms given by endless bit strings: fast, in extended precision, and as intervals.

The first 64 bits of U are known, so that U lies in [w, w + 1)·2^-64. With u = 2^-53, `log_uniform` reads U as
an odd multiple of 2^-63, at most 2^-63 from the real one, and as a float64 of relative error u: it is off by
at most u + 2^-63/U + 8uL, where the last term takes `numpy.log` to be within 4 units in the last place
(`assumption`). Callers bound U from below.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.mechanisms.bits import Tails
from discreet.mechanisms.intervals import Interval
from discreet.mechanisms.scratch import Scratch, Words

Extended = npt.NDArray[np.longdouble]
Indices = npt.NDArray[np.intp]

# x87 extended precision or better; what Windows and macOS on ARM call long double is not.
HAS_EXTENDED = bool(np.finfo(np.longdouble).eps < 2.0**-62)


def log_uniform(words: Words, scratch: Scratch) -> Floats:
    """Fast ln U = −L, off as the module says."""
    # Signed integers become floats faster than unsigned ones; an odd one is not zero.
    odd = np.right_shift(words, np.uint64(1), out=scratch.words("odd", len(words)))
    odd |= np.uint64(1)
    uniform = scratch.floats("uniform", len(words))
    np.multiply(odd.view(np.int64), 2.0**-63, out=uniform)
    return np.log(uniform, out=uniform)


def extended_neg_log(words: Words) -> tuple[Extended, Extended]:
    """−ln U in extended precision, and a bound on each value's error (infinite without extended precision).

    The word and its complement are exact here, and their logarithms within 2^-60 relative (`assumption`); the
    2^-64 that are unknown of U cost 2^-64/U.
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
