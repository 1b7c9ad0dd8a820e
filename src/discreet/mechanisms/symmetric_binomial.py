r"""Bin(2^b, 1/2) for b below 22: the building block of binomials that are kept as counts.

Up to 64 trials: the set bits of a random word. Up to 4096: an inversion table. Beyond: with n = 2^(b−1), the
centred law P[k] ∝ 1/((n+k)!(n−k)!) is thinned from the discrete Gaussian N_Z(0, s²), s² = (n/2)(1 + ε). With
x = k/n and Stirling's series the acceptance probability is

    ln a(k) = k²/2s² − n·Σ_{j≥1} x^{2j}/(j(2j−1)) − ½ ln(1 − x²) + 2δ(n) − δ(n+k) − δ(n−k),

δ(m) = 1/(12m) − 1/(360m³) + …. It is at most 0 for ε ≥ 1/(2n) and |x| ≤ 1/2: k²/2s² falls short of nx² by at
least εnx²/(1+ε), nx⁴/6 covers the x⁴ of the logarithm, and δ is convex. Float64 decides nearly always;
where it is too close to call, interval arithmetic on log-gamma does.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.mechanisms.bits import FIRST_EXTRA_BITS, Tails
from discreet.mechanisms.exponentials import Indices
from discreet.mechanisms.intervals import Interval
from discreet.mechanisms.inversion import InversionTable
from discreet.mechanisms.scratch import Floats, Integers, Scratch
from discreet.mechanisms.thinning import draw_discrete_gaussian, until_accepted
from discreet.randomness import RandomSource

_WORD_LOG_TRIALS = 6
_TABLE_LOG_TRIALS = 12

# Beyond 13 standard deviations neither law has mass 2^-119; Hoeffding for the binomial.
SYMMETRIC_TV = 2.0**-115

# |float64 acceptance − a(k)|: PROVEN below 2^-46 for |k| ≤ 13√(n/2), by
# docs/theory/sampler_bounds/binomials.py; four bits of room.
_TOLERANCE = 2.0**-42
_PRECISION = 384
_SERIES = tuple(1.0 / (j * (2 * j - 1)) for j in range(2, 18))


def draw_symmetric_binomial(log_trials: int, count: int, randomness: RandomSource) -> Integers:
    """Draws ``count`` independent Bin(2^``log_trials``, 1/2), within `SYMMETRIC_TV` each; 0 ≤ b < 22."""
    if log_trials <= _WORD_LOG_TRIALS:
        words = randomness.words(count) >> np.uint64(64 - (1 << log_trials))
        successes: Integers = np.bitwise_count(words).astype(np.int64)
        return successes
    out, scratch = np.empty(count, dtype=np.int64), Scratch()
    if log_trials <= _TABLE_LOG_TRIALS:
        _table(log_trials).draw(out, randomness, scratch)
    else:
        until_accepted(lambda values: _attempt(log_trials, values, randomness, scratch), out)
        out += 1 << (log_trials - 1)
    return out


@lru_cache
def _table(log_trials: int) -> InversionTable:
    """Exact binomial coefficients as weights."""
    trials = 1 << log_trials
    weights, weight = [], 1
    for k in range(trials + 1):
        weights.append(weight)
        weight = weight * (trials - k) // (k + 1)
    return InversionTable.from_weights(0, weights)


def _attempt(log_trials: int, values: Integers, randomness: RandomSource, scratch: Scratch) -> Indices:
    """Writes one centred discrete-Gaussian proposal per position; returns the positions to be drawn again."""
    half = 1 << (log_trials - 1)
    draw_discrete_gaussian(_proposal_stddev(half), values, randomness, scratch)
    words = randomness.words(len(values))
    tails = Tails.drawn_from(randomness)
    # 1 − a(k) ≤ nx⁴/6 + εnx² + …: at 13 deviations x² = 169/(2n), below 1270/n; and room for float64.
    most = min(1.0, 1600.0 / half + 2.0**-40)
    candidates = np.flatnonzero(words <= np.uint64(int(most * (2**64 - 2**11))))
    reject_prob = -np.expm1(log_acceptance(values[candidates], half))
    uniform = words[candidates].astype(np.float64) * 2.0**-64
    rejected = list(candidates[uniform < reject_prob - _TOLERANCE])
    rejected.extend(
        index
        for index in candidates[np.abs(uniform - reject_prob) <= _TOLERANCE]
        if _rejected_exactly(int(values[index]), half, int(words[index]), int(index), tails)
    )
    # In order, so that who redraws with which bits does not depend on which arithmetic decided.
    return np.sort(np.asarray(rejected, dtype=np.intp))


def _proposal_stddev(half: int) -> float:
    """The s of the proposal; ε = 1/(2n), and a little more so that float64 cannot round it below."""
    return math.sqrt(0.5 * half * (1.0 + 0.501 / half + 2.0**-50))


def log_acceptance(values: Integers, half: int) -> Floats:
    """The logarithm of a(k) in float64, by the series of the module's docstring; n = ``half`` ≥ 4096."""
    s2 = Fraction(_proposal_stddev(half)) ** 2
    # k²/2s² − nx² = −nx²·(2s² − n)/2s², without cancellation.
    excess = float((2 * s2 - half) / (2 * s2))
    return log_ratio(values.astype(np.float64), float(half), excess)


def log_ratio(k: Floats, half: float, excess: float) -> Floats:
    """`log_acceptance` in the operations whose rounding is bounded; ``excess`` is 1 − n/2s²."""
    x = k / half
    x2 = x * x
    square = -half * x2 * (excess + entropy_series(x2))
    return np.asarray(square - 0.5 * np.log1p(-x2) + stirling_difference(x2, half))


def entropy_series(x2: Floats) -> Floats:
    """Σ_{j≥2} x^{2j−2}/(j(2j−1))."""
    series = np.zeros_like(x2)
    for coefficient in reversed(_SERIES):
        series = x2 * (coefficient + series)
    return np.asarray(series)


def stirling_difference(x2: Floats, half: float) -> Floats:
    """2δ(n) − δ(n+k) − δ(n−k) with the first two terms of δ."""
    rest = 1.0 - x2
    first = -x2 / (6.0 * half * rest)
    third = (2.0 - (2.0 + 6.0 * x2) / (rest * rest * rest)) / (-360.0 * half * half * half)
    return np.asarray(first + third)


def _rejected_exactly(value: int, half: int, word: int, index: int, tails: Tails) -> bool:
    """Decides u < 1 − a(k) by intervals."""
    one = Interval.from_float(1.0, _PRECISION)
    uniform = tails.uniform(word, b"binomial", index, FIRST_EXTRA_BITS)
    # Undecided with probability below 2^-120, which `SYMMETRIC_TV` covers.
    return uniform.is_below(one - exact_acceptance(value, half)) is not False


def exact_acceptance(value: int, half: int) -> Interval:
    """a(k) = P[k]/P[0]·e^{k²/2s²} from log-gamma, to more than 100 bits."""
    k, n = (Interval.from_float(float(v), _PRECISION) for v in (value, half))
    s = Interval.from_float(_proposal_stddev(half), _PRECISION)
    log_mass = (n + 1.0).log_gamma() * 2.0 - (n + k + 1.0).log_gamma() - (n - k + 1.0).log_gamma()
    return (log_mass + k * k / (s * s) * 0.5).exp()
