r"""From one integer law to another by exact rejection.

Discrete Gaussian from rounded Gaussian: let the real proposal be k + t, k its nearest integer, |t| ≤ 1/2.
The proposal density at (k, ±t) together is ∝ e^{−k²/2σ²}·e^{−t²/2σ²}·cosh(kt/σ²). Accepting with probability
1/cosh(kt/σ²) leaves a density that factors into k and |t|, so the accepted k follow N_Z(0, σ²) *exactly*.
About 1/(24σ²) of the proposals are rejected, never more than 10 % for σ ≥ 0.3.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.mechanisms.bits import GUARD_BITS
from discreet.mechanisms.box_muller import error_bound
from discreet.mechanisms.exponentials import Indices
from discreet.mechanisms.intervals import Interval
from discreet.mechanisms.rounded_gaussian import RoundedBatch, exact_nearest, rounded_batch
from discreet.mechanisms.scratch import Scratch, Words
from discreet.randomness import RandomSource

# The largest float64 below 2^64.
_LARGEST_FLOAT_WORD = 2.0**64 - 2.0**11

Attempt = Callable[[Integers], Indices]


def until_accepted(attempt: Attempt, out: Integers) -> None:
    """Has ``attempt`` fill ``out``, then again what it returns as rejected, until nothing is left."""
    rejected = attempt(out)
    while len(rejected):
        again = np.empty(len(rejected), dtype=np.int64)
        still_rejected = attempt(again)
        out[rejected] = again
        rejected = rejected[still_rejected]


def draw_discrete_gaussian(stddev: float, out: Integers, randomness: RandomSource, scratch: Scratch) -> None:
    """Fills ``out`` with independent N_Z(0, ``stddev``²), exactly."""
    until_accepted(lambda values: _attempt_discrete_gaussian(stddev, values, randomness, scratch), out)


def _attempt_discrete_gaussian(
    stddev: float, values: Integers, randomness: RandomSource, scratch: Scratch
) -> Indices:
    """Writes one rounded-Gaussian proposal per position; returns the positions to be drawn again."""
    batch = rounded_batch(stddev, len(values), randomness, scratch)
    words = scratch.words("coins", len(values))
    randomness.fill(words)
    np.copyto(values, batch.nearest, casting="unsafe")
    rejected, unsure = _reject_fast(batch, stddev, words, scratch)
    if not len(unsure) and not len(batch.undecided):
        return rejected
    unsure = np.union1d(unsure, batch.undecided)
    overturned = []
    for index in unsure:
        value, accepted = _decide_exactly(batch, stddev, int(words[index]), int(index))
        values[index] = value
        if not accepted:
            overturned.append(index)
    # In order, so that who redraws with which bits does not depend on which arithmetic decided.
    return np.union1d(np.setdiff1d(rejected, unsure), np.asarray(overturned, dtype=np.intp))


def _reject_fast(
    batch: RoundedBatch, stddev: float, words: Words, scratch: Scratch
) -> tuple[Indices, Indices]:
    """Positions that float64 proves rejected, and those it cannot tell; both in order."""
    tolerance = _tolerance(stddev)
    # 1 − 1/cosh z ≤ z²/2 and |z| ≤ reach/2: one comparison accepts nearly everything where the law is wide.
    most = min(_LARGEST_FLOAT_WORD, 2.0**64 * (0.125 * _reach(stddev) ** 2 + tolerance))
    likely = np.less_equal(words, np.uint64(int(most)), out=scratch.flags(len(words)))
    candidates = np.flatnonzero(likely)
    reject_prob = rejection(batch.nearest[candidates], batch.offsets[candidates], stddev)
    uniform = words[candidates].astype(np.float64) * 2.0**-64
    rejected = candidates[uniform < reject_prob - tolerance]
    unsure = candidates[np.abs(uniform - reject_prob) <= tolerance]
    return rejected, unsure


def rejection(nearest: Floats, offsets: Floats, stddev: float) -> Floats:
    """1 − 1/cosh z = 2 sinh²(z/2)/cosh z at z = kt/σ², without cancellation."""
    half = nearest * offsets / (2.0 * stddev * stddev)
    grown = np.sinh(half)
    return np.asarray(2.0 * grown * grown / np.cosh(2.0 * half))


def _reach(stddev: float) -> float:
    """Largest |k|/σ² outside the exact path: U ≥ 2^-64 there, so that r ≤ √(128 ln 2) < 9.42."""
    return (9.42 * stddev + 0.5) / (stddev * stddev)


def _tolerance(stddev: float) -> float:
    """How far the float64 rejection probability of a resolved pair can be off, and a margin for rounding.

    z = kt/σ² with |z| ≤ reach/2, and t off by η = ``error_bound``, hence z by η·reach; the derivative of
    1 − 1/cosh z is at most min(z, 1/2). PROVEN to cover rounding by docs/theory/sampler_bounds/rejection.py.
    """
    return 0.5 * _reach(stddev) ** 2 * error_bound(stddev) + 2.0**-50


def _decide_exactly(batch: RoundedBatch, stddev: float, word: int, index: int) -> tuple[int, bool]:
    """Value and acceptance of one position, from as many bits as it takes."""
    value, real, extra_bits = exact_nearest(batch.pairs, index)
    while True:
        uniform = batch.pairs.tails.uniform(word, b"thinning", index, extra_bits)
        one = Interval.from_float(1.0, GUARD_BITS + extra_bits)
        z = (real - float(value)) * float(value) / stddev / stddev
        rejected = uniform.is_below(one - one / z.cosh())
        if rejected is not None:
            return value, not rejected
        extra_bits *= 2
        real = batch.pairs.exact(index, extra_bits)
