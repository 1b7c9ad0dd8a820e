r"""Symmetric Skellam noise: the difference of two Poisson draws, without drawing a Poisson.

P[X = k] = e^{−μ} I_k(μ), variance μ (Skellam 1946). Narrow laws (μ < 4096) are inverted from a table of exact
weights. Wide laws are thinned from the discrete Gaussian N_Z(0, s²), s² = μ(1 + ε): with x = k/μ,
W = √(μ² + k²) and f(x) = √(1+x²) − 1 − x·asinh x, moving the contour of the Fourier integral through the
saddle point gives, exactly,

    P[X = k] = e^{μ f(x)} · (1/π) ∫_0^π e^{−2W sin²(θ/2)} cos(k(θ − sin θ)) dθ,

so the acceptance probability a(k) = P[X = k]·e^{k²/2s²}/P[X = 0] needs no Bessel function. It is at most 1
for |k| ≤ 13√μ if ε ≥ 169/(12μ) (docs/theory/integers.md, Lemma A). Float64 evaluates it by Debye's expansion
of the integral; interval arithmetic on the integral decides where float64 is too close to call.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from mpmath import libmp
from scipy.special import binom

from discreet.arrays import Floats, Integers
from discreet.mechanisms.bits import FIRST_EXTRA_BITS, Tails
from discreet.mechanisms.exponentials import Indices
from discreet.mechanisms.intervals import Interval
from discreet.mechanisms.inversion import InversionTable
from discreet.mechanisms.scratch import Scratch
from discreet.mechanisms.thinning import draw_discrete_gaussian, until_accepted
from discreet.randomness import RandomSource

WIDE_VARIANCE = 4096.0

# Beyond 13 standard deviations neither Skellam (μ >= 4096) nor the proposal has mass 2^-119, and acceptance
# is not controlled there. A table has weights until 2^-140 and boundaries in units of 2^-128.
_REACH_SQUARED = 169.0
_WIDE_TV = 2.0**-118
_TABLE_TV = 2.0**-115
_TABLE_TAIL_BITS = 140

# |float64 acceptance − a(k)|: PROVEN below 2^-46 for every μ of the domain and |k| ≤ 13√μ, by
# docs/theory/sampler_bounds/skellam.py; four bits of room.
_TOLERANCE = 2.0**-42
_PRECISION = 384

# f(x)/x² = −1/2 + Σ_{j≥1} c_j x^{2j}, c_j = −binom(−1/2, j)/((2j+1)(2j+2)), from f'' = −1/√(1+x²); the first
# term is merged with the proposal's exponent. Sixteen terms reach 2^-70 at the largest x² = 169/4096.
_SADDLE_SERIES = tuple(float(-binom(-0.5, j)) / ((2 * j + 1) * (2 * j + 2)) for j in range(1, 17))


def skellam_tv(variance: float) -> float:
    """Total variation between one draw of `draw_skellam` and the Skellam law of this variance."""
    return _TABLE_TV if variance < WIDE_VARIANCE else _WIDE_TV


def draw_skellam(variance: float, out: Integers, randomness: RandomSource, scratch: Scratch) -> None:
    """Fills ``out`` with independent symmetric Skellam variables of this variance."""
    if variance < WIDE_VARIANCE:
        skellam_table(variance).draw(out, randomness, scratch)
    else:
        until_accepted(lambda values: _attempt_wide(variance, values, randomness, scratch), out)


@lru_cache(maxsize=16)
def skellam_table(variance: float) -> InversionTable:
    r"""The inversion table of a narrow Skellam law.

    Backward recurrence I_{k−1} = I_{k+1} + (2k/μ) I_k, stable downward (Miller's algorithm, DLMF 3.6); the
    weights are relative, so that no normalising constant is needed.
    """
    numerator, denominator = variance.as_integer_ratio()
    top = _support(variance)
    above, weight = 0, 1 << 64
    weights = [weight]
    for k in range(2 * top, 0, -1):
        above, weight = weight, above + 2 * k * denominator * weight // numerator
        weights.append(weight)
    upward = weights[::-1][: top + 1]
    return InversionTable.from_weights(-top, upward[:0:-1] + upward)


def _support(variance: float) -> int:
    """Smallest k with μ f(k/μ) below −140 ln 2: the mass beyond is below 2^-138."""
    k = 1
    while math.hypot(variance, k) - variance - k * math.asinh(k / variance) > -_TABLE_TAIL_BITS * math.log(2):
        k += 1
    return k


def _attempt_wide(variance: float, values: Integers, randomness: RandomSource, scratch: Scratch) -> Indices:
    """Writes one discrete-Gaussian proposal per position; returns the positions to be drawn again."""
    draw_discrete_gaussian(_proposal_stddev(variance), values, randomness, scratch)
    words = scratch.words("coins", len(values))
    randomness.fill(words)
    tails = Tails.drawn_from(randomness)
    # 1 − a(k) is largest near |k| = 13√(μ/2), about 169²/(96μ); a fifth of room (docs/theory/integers.md,
    # Lemma A), and some for float64.
    most = 1.2 * _REACH_SQUARED**2 / (96.0 * variance) + 2.0**-40
    likely = np.less(words, np.uint64(int(most * 2.0**64)), out=scratch.flags(len(words)))
    candidates = np.flatnonzero(likely)
    reject_prob = -np.expm1(log_acceptance(values[candidates], variance))
    uniform = words[candidates].astype(np.float64) * 2.0**-64
    rejected = list(candidates[uniform < reject_prob - _TOLERANCE])
    rejected.extend(
        index
        for index in candidates[np.abs(uniform - reject_prob) <= _TOLERANCE]
        if _rejected_exactly(int(values[index]), variance, int(words[index]), int(index), tails)
    )
    # In order, so that who redraws with which bits does not depend on which arithmetic decided.
    return np.sort(np.asarray(rejected, dtype=np.intp))


def _proposal_stddev(variance: float) -> float:
    """The s of the proposal; ε = 169/(12μ), and a little more so that float64 cannot round it below."""
    return math.sqrt(variance * (1.0 + 1.001 * _REACH_SQUARED / (12.0 * variance) + 2.0**-50))


def _proposal_excess(variance: float) -> float:
    """1 − μ/s² for the float64 s that is really used, without cancellation."""
    s2 = Fraction(_proposal_stddev(variance)) ** 2
    return float((s2 - Fraction(variance)) / s2)


def log_acceptance(values: Integers, variance: float) -> Floats:
    r"""The logarithm of a(k) in float64: μ f(x) + k²/2s² by its power series, the rest by Debye's."""
    return log_ratio(values.astype(np.float64), variance, _proposal_excess(variance))


def log_ratio(k: Floats, variance: float, excess: float) -> Floats:
    """`log_acceptance` in the operations whose rounding is bounded; ``excess`` is 1 − μ/s²."""
    square = (k / variance) * k
    x2 = square / variance
    saddle = square * (saddle_series(x2) - 0.5 * excess)
    p2 = x2 / (1.0 + x2)
    w = 1.0 / (variance * np.sqrt(1.0 + x2))
    v = 1.0 / variance
    debye = np.log1p(debye_terms(p2, w)) - np.log1p(debye_terms(0.0 * v, v))
    return np.asarray(saddle - 0.25 * np.log1p(x2) + debye)


def saddle_series(x2: Floats) -> Floats:
    """f(x)/x² + 1/2."""
    series = np.zeros_like(x2)
    for coefficient in reversed(_SADDLE_SERIES):
        series = x2 * (coefficient + series)
    return np.asarray(series)


def debye_terms(p2: Any, w: Any) -> Any:
    """U₁ + U₂ + U₃ of DLMF 10.41.10 over powers of W, p² = x²/(1 + x²) and w = 1/W; of any numeric type."""
    u1 = (3.0 - 5.0 * p2) / 24.0
    u2 = (81.0 - p2 * (462.0 - 385.0 * p2)) / 1152.0
    u3 = (30375.0 - p2 * (369603.0 - p2 * (765765.0 - 425425.0 * p2))) / 414720.0
    return w * (u1 + w * (u2 + w * u3))


def _rejected_exactly(value: int, variance: float, word: int, index: int, tails: Tails) -> bool:
    """Decides u < 1 − a(k) by intervals; the trapezium rule's own error is below 2^-140."""
    accept = exact_acceptance(value, variance)
    one = Interval.from_float(1.0, _PRECISION)
    extra_bits = FIRST_EXTRA_BITS
    uniform = tails.uniform(word, b"skellam", index, extra_bits)
    verdict = uniform.is_below(one - accept)
    # Undecided with probability below 2^-120, which `skellam_tv` covers.
    return verdict is not False


def exact_acceptance(value: int, variance: float) -> Interval:
    """The acceptance probability a(k) of the module's docstring, to about 100 bits."""
    k, mu = (Interval.from_float(float(v), _PRECISION) for v in (value, variance))
    w = (k * k + mu * mu).sqrt()
    s2 = Interval.from_float(_proposal_stddev(variance), _PRECISION)
    s2 = s2 * s2
    saddle = w - mu - k * ((k + w) / mu).log()
    return (saddle + k * k / s2 * 0.5).exp() * _integral(k, w) / _integral(k * 0.0, mu)


def _integral(k: Interval, w: Interval) -> Interval:
    r"""Proportional to ∫_0^π e^{−2W sin²(θ/2)} cos(k(θ − sin θ)) dθ · √W, by the trapezium rule of step 2π/N.

    N = ⌈16√μ'⌉ points on the circle alias the law tilted to mean k and variance W: what is added is its mass
    beyond N of the mean, below 2^-140 (Bernstein). Beyond θ = 16/√W the integrand is below 2^-170.
    """
    root = float(libmp.to_float(w.sqrt().bounds[1]))
    num_points = math.ceil(16.0 * root)
    step = Interval.pi(_PRECISION) * 2.0 / float(num_points)
    total = Interval.from_float(0.5, _PRECISION)
    for n in range(1, math.ceil(16.0 / root * num_points / (2.0 * math.pi)) + 1):
        theta = step * float(n)
        _, half_sine = (theta * 0.5).cos_sin()
        _, sine = theta.cos_sin()
        phase, _ = (k * (theta - sine)).cos_sin()
        total = total + (half_sine * half_sine * w * -2.0).exp() * phase
    return total / float(num_points)
