r"""Pairs of Gaussians in float64 with a proven error bound, and the same pairs to any precision.

Box and Muller (1958): for independent uniform U, V in (0, 1), r = √(−2 ln U) and θ = 2πV, the pair
(σ r cos θ, σ r sin θ) is two independent N(0, σ²). Here U and V are *real* numbers, given by endless bit
strings (`bits.Tails`), and there are three ways to look at one pair:

  - `gaussian_pairs` computes from the first 64 bits in float64, off by less than `error_bound`;
  - `GaussianPairs.extended` repeats that for a few pairs in extended precision, where the platform has it;
  - `GaussianPairs.exact` computes intervals from as many bits as it takes.

Whoever rounds the fast value, and asks the next one near a boundary, samples the rounded *real* Gaussian. All
three may be shifted by float64 numbers of magnitude at most 1/2, taken as exact.

Error budget of the fast value in units of σ, with u = 2^-53:
  - L = −ln U is off by at most δL = u + 2^-63/U + 8uL (`exponentials`).
  - Pairs with U < 2^-l or U ≥ 1 − 2^-h are *void*: nothing is promised. Elsewhere R = √(2l ln 2) ≥ r and
    r ≥ 2^((1-h)/2), so that δr ≤ δL/r ≤ 1.01u·2^((h-1)/2) + 2^(l-63)/R + 4uR (2^(l-63)/R bounds the
    second term because U√(−ln U) increases up to U = e^{-1/2}, beyond which u covers it).
  - cos θ and sin θ are within 3·2^-50: the half angle's polynomials, sin θ = 2SC and cos θ = 1 − 2S², and the
    turn by πu that rounding θ/2 is.
  - The root, the products and the shift are rounded: 8u(R + 1/σ) covers that and the 4uR.
PROVEN for every U, θ and σ by running them on intervals: docs/theory/sampler_bounds/gaussian.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from discreet.arrays import Floats
from discreet.mechanisms.bits import GUARD_BITS, Tails
from discreet.mechanisms.exponentials import (
    Extended,
    Indices,
    as_extended,
    exact_neg_log,
    extended_neg_log,
    log_uniform,
)
from discreet.mechanisms.intervals import Interval
from discreet.mechanisms.scratch import Scratch, Words
from discreet.randomness import RandomSource

_EXTENDED_SLACK = np.longdouble(2.0**-58)
_EXTENDED_PI = np.longdouble(math.pi) + np.longdouble(1.2246467991473532e-16)

# Chebyshev interpolation in x = a² on [0, 1] with 50 digits: cos(πa/2) and sin(πa/2)/a, |a| <= 1.
SIN_HALF_TURN = (
    1.5707963267948966,
    -0.6459640975062462,
    0.07969262624616565,
    -0.004681754135304255,
    0.0001604411847130916,
    -3.5988430204672576e-06,
    5.6921364280986254e-08,
    -6.684416831856085e-10,
    5.87297574479995e-12,
)
COS_HALF_TURN = (
    1.0,
    -1.233700550136169,
    0.25366950790103104,
    -0.02086348076317886,
    0.0009192602739434877,
    -2.5202039782228713e-05,
    4.7108307433635577e-07,
    -6.382235924529259e-09,
    6.3317327178079e-11,
)
_COS_SIN_COLUMNS = np.array([COS_HALF_TURN, SIN_HALF_TURN]).T[:, :, np.newaxis]


@dataclass(frozen=True, slots=True)
class Edges:
    """Which pairs are void: those with U < 2^-``low`` or U ≥ 1 − 2^-``high``."""

    low: int
    high: int

    @property
    def max_radius(self) -> float:
        """No pair that is not void has a larger r."""
        return math.sqrt(2.0 * self.low * math.log(2.0))


@lru_cache
def edges(stddev: float) -> Edges:
    """Balances the void pairs against those that are void for being within the error of a boundary."""
    log_stddev = max(0.0, math.log2(stddev))
    return Edges(low=int((64 - log_stddev) / 2), high=int((53 - log_stddev) * 2 / 3))


@lru_cache
def error_bound(stddev: float) -> float:
    """Absolute error that no value of `gaussian_pairs` exceeds, unless it is void; see the budget above."""
    return stddev * (budget(edges(stddev)) + 1.01 * 8.0 * 2.0**-53 / stddev)


def budget(edge: Edges) -> float:
    """That bound without the shift, in units of σ."""
    radius = edge.max_radius
    near_one = 1.01 * 2.0 ** ((edge.high - 1) / 2 - 53)
    near_zero = 2.0 ** (edge.low - 63) / radius
    return float(1.01 * (near_one + near_zero + radius * (3.0 * 2.0**-50 + 8.0 * 2.0**-53)))


@dataclass(frozen=True, slots=True, repr=False)
class GaussianPairs:
    """One batch of Gaussian reals: approximate ``values``, where they are void, and the way to the truth.

    Attributes:
        stddev: σ.
        values: shape ``(2m,)``, the m cosines, then the m sines; off by less than ``error_bound(stddev)``;
            scratch memory, like ``words``: to be used before the next batch is drawn.
        void_pairs: indices below m of the pairs of which ``values`` promises nothing.
        shifts: what was added to the first of the ``values``, if anything.
    """

    stddev: float
    values: Floats
    void_pairs: Indices
    words: Words
    tails: Tails
    shifts: Floats | None = None

    def shifted(self, shifts: Floats) -> GaussianPairs:
        """The same reals, plus numbers of magnitude at most 1/2; writes over ``values``."""
        np.add(self.values[: len(shifts)], shifts, out=self.values[: len(shifts)])
        return replace(self, shifts=shifts)

    def exact(self, index: int, extra_bits: int) -> Interval:
        """The real number behind ``values[index]``, from ``64 + extra_bits`` bits of each uniform."""
        m = len(self.words) // 2
        pair = index % m
        precision = GUARD_BITS + extra_bits
        log = exact_neg_log(int(self.words[pair]), self.tails, b"radius", pair, extra_bits)
        v = self.tails.uniform(int(self.words[m + pair]), b"angle", pair, extra_bits)
        radius = (log * 2.0).sqrt()
        cosine, sine = (v * Interval.pi(precision) * 2.0).cos_sin()
        real = radius * (cosine if index < m else sine) * self.stddev
        return real if self.shifts is None else real + float(self.shifts[index])

    def extended(self, indices: Indices) -> tuple[Extended, Extended]:
        """The reals behind ``values[indices]`` in extended precision, and a bound on each one's error.

        δr = δL/r, counted twice; r·2^-58 covers the angle (2π·2^-64 of it is unknown; π and the product are
        rounded: 2^-60.3 in all), the trigonometry (2^-60, `assumption`) and three products; 2^-60 rounds
        a shifted value.
        """
        m = len(self.words) // 2
        pairs = indices % m
        logs, log_errors = extended_neg_log(self.words[pairs])
        radius = np.sqrt(2 * logs)
        # Two's complement reads [1/2, 1) as [-1/2, 0): the same angle.
        angle = np.ldexp(self.words[m + pairs].view(np.int64).astype(np.longdouble), -63) * _EXTENDED_PI
        direction = np.where(indices < m, np.cos(angle), np.sin(angle))
        errors = 2 * log_errors / radius + _EXTENDED_SLACK * radius
        values = radius * direction * self.stddev
        if self.shifts is not None:
            values += self.shifts[indices]
            errors += np.longdouble(2.0**-60) * (1 + radius)
        return as_extended(values), as_extended(errors * self.stddev)


def gaussian_pairs(
    stddev: float, num_pairs: int, randomness: RandomSource, scratch: Scratch
) -> GaussianPairs:
    """Draws ``num_pairs`` pairs of independent N(0, ``stddev``²) reals; they lie in ``scratch``."""
    words = scratch.words("pairs", 2 * num_pairs)
    randomness.fill(words)
    tails = Tails.drawn_from(randomness)
    radius = log_uniform(words[:num_pairs], scratch)
    log_to_radius(radius, stddev)
    values = scratch.floats("values", 2 * num_pairs)
    both = values.reshape(2, num_pairs)
    _cos_sin_turn(words[num_pairs:], both, scratch)
    both *= radius
    void_pairs = _void_pairs(words[:num_pairs], edges(stddev))
    return GaussianPairs(stddev, values, void_pairs, words, tails)


def _void_pairs(words: Words, edge: Edges) -> Indices:
    """Pairs whose U is near 0 or 1."""
    low, high = np.uint64(1 << (64 - edge.low)), np.uint64(2**64 - (1 << (64 - edge.high)))
    if len(words) == 0 or (words.min() >= low and words.max() < high):
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero((words < low) | (words >= high))


def _cos_sin_turn(words: Words, out: Floats, scratch: Scratch) -> None:
    """Writes cos and sin of 2π times the uniforms that start with ``words``, through the half angle.

    ``out`` has shape ``(2, len(words))``.
    """
    a, x = scratch.floats("angle", len(words)), scratch.floats("square", len(words))
    # Two's complement reads [1/2, 1) as [-1/2, 0): the same angle.
    np.multiply(words.view(np.int64), 2.0**-63, out=a)
    cos_sin_of_half_turns(a, x, out)


def log_to_radius(log: Floats, stddev: float) -> None:
    """Overwrites ln U by σ√(−2 ln U)."""
    log *= -2.0 * stddev * stddev
    np.sqrt(log, out=log)


def cos_sin_of_half_turns(a: Floats, x: Floats, out: Floats) -> None:
    """Writes cos(πa) and sin(πa), |a| <= 1, into the two rows of ``out``; ``x`` is overwritten."""
    np.multiply(a, a, out=x)
    half_cos_sin_series(x, out)
    c, s = out
    s *= a
    c *= s
    np.multiply(s, s, out=x)
    np.add(c, c, out=s)
    x *= -2.0
    np.add(x, 1.0, out=c)


def half_cos_sin_series(x: Floats, out: Floats) -> None:
    """Writes cos(πa/2) and sin(πa/2)/a for x = a² into the two rows of ``out``, by Horner's rule."""
    np.multiply(x, _COS_SIN_COLUMNS[-1], out=out)
    for column in _COS_SIN_COLUMNS[-2:0:-1]:
        out += column
        out *= x
    out += _COS_SIN_COLUMNS[0]
