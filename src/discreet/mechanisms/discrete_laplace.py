r"""Discrete Laplace noise: the difference of two geometric variables, each a floored exponential, exactly.

P[X = k] ∝ e^{−|k|/b} (Ghosh, Roughgarden, Sundararajan 2012). ⌊b·E⌋ with E = −ln U exponential is geometric
with P[⌊bE⌋ ≥ g] = e^{−g/b}, and the difference of two independent ones is discrete Laplace of scale b. A sum
of such draws is *not* discrete Laplace, so this is noise for one holder, not a share.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from discreet.mechanisms.bits import FIRST_EXTRA_BITS, Tails
from discreet.mechanisms.blocks import fill
from discreet.mechanisms.domain import check_size, check_stddev
from discreet.mechanisms.exponentials import (
    Indices,
    exact_neg_log,
    extended_neg_log,
    log_uniform,
)
from discreet.mechanisms.scratch import Integers, Scratch, Words
from discreet.privacy.events import DiscreteLaplaceNoise
from discreet.randomness import RandomSource

# Uniforms with more leading zeros go to the exact path; then L ≤ 20 ln 2.
LOW_BITS = 20


def sample_discrete_laplace(
    law: DiscreteLaplaceNoise, size: int, randomness: RandomSource, *, workers: int = 1
) -> npt.NDArray[np.int64]:
    """Draws ``size`` independent integers of ``law``, P[k] ∝ e^(−|k|/scale), exactly.

    Raises:
        ConfigurationError: if the standard deviation, about √2·scale, is outside 0.3 … 2^40.

    Example:
        >>> from discreet.randomness import SeededRandom
        >>> sample_discrete_laplace(DiscreteLaplaceNoise(10.0), 4, SeededRandom(1)).shape
        (4,)
    """
    check_stddev("the standard deviation of discrete Laplace noise", laplace_variance(law) ** 0.5)
    check_size(size)
    out = np.empty(size, dtype=np.int64)
    fill(
        lambda part, source, scratch: _draw(law.scale, part, source, scratch),
        out,
        randomness,
        workers=workers,
    )
    return out


def laplace_variance(law: DiscreteLaplaceNoise) -> float:
    """Variance 2p/(1 − p)², p = e^(−1/scale)."""
    p = math.exp(-1.0 / law.scale)
    return float(2.0 * p / math.expm1(-1.0 / law.scale) ** 2)


def _draw(scale: float, out: Integers, randomness: RandomSource, scratch: Scratch) -> None:
    """Fills ``out`` with differences of two geometric variables."""
    count = len(out)
    words = scratch.words("words", 2 * count)
    randomness.fill(words)
    tails = Tails.drawn_from(randomness)
    values = log_uniform(words, scratch)
    values *= -scale
    whole = np.floor(values, out=scratch.floats("whole", 2 * count))
    geometric = scratch.integers("geometric", 2 * count)
    np.copyto(geometric, whole, casting="unsafe")
    # Distance to the nearest integer decides whether the floor is certain.
    nearest = np.rint(values, out=whole)
    values -= nearest
    np.abs(values, out=values)
    close = np.less_equal(values, error_bound(scale), out=scratch.flags(2 * count))
    close |= words < np.uint64(1 << (64 - LOW_BITS))
    for index in _settle_extended(scale, words, np.flatnonzero(close), geometric):
        geometric[index] = _exact_floor(scale, int(words[index]), tails, int(index))
    np.subtract(geometric[:count], geometric[count:], out=out)


def error_bound(scale: float) -> float:
    """Error of b·L in float64 where U ≥ 2^-20 (`exponentials`), the product's rounding included.

    PROVEN by docs/theory/sampler_bounds/rejection.py.
    """
    largest = LOW_BITS * math.log(2.0)
    return 1.01 * scale * (2.0**-53 + 2.0 ** (LOW_BITS - 63) + 9.0 * 2.0**-53 * largest)


def _settle_extended(scale: float, words: Words, indices: Indices, geometric: Integers) -> Indices:
    """Settles in place what extended precision can; returns the rest."""
    logs, errors = extended_neg_log(words[indices])
    values = logs * scale
    whole = np.floor(values)
    settled = np.abs(values - np.rint(values)) > errors * scale + values * 2.0**-62
    geometric[indices[settled]] = whole[settled]
    unsettled: Indices = indices[~settled]
    return unsettled


def _exact_floor(scale: float, word: int, tails: Tails, index: int) -> int:
    """⌊b·L⌋ from as many bits as it takes."""
    extra_bits = FIRST_EXTRA_BITS
    while True:
        floor = (exact_neg_log(word, tails, b"geometric", index, extra_bits) * scale).floor()
        if floor is not None:
            return floor
        extra_bits *= 2
