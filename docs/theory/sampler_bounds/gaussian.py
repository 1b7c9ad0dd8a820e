"""The error budget of `discreet.mechanisms.box_muller`: its own functions, over every angle, radius and σ."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.mechanisms import box_muller
from discreet.mechanisms.domain import MAX_STDDEV, MIN_STDDEV
from discreet.mechanisms.intervals import Interval

from .bound import Bound
from .polynomial import Polynomial, chebyshev_norm
from .rounded import PRECISION, UNIT, Rounded, array, point, ratio, upper

_TERMS = 26
_ANGLES = 128
DIRECTION = 3.0 * 2.0**-50
# A thousandth is left for the rounding of the bound itself and of comparisons with it.
_ROOM = 0.999
_MOST = box_muller.edges(MIN_STDDEV)


def _half_turn_taylor() -> tuple[list[Interval], list[Interval]]:
    """Coefficients of cos(πa/2) and sin(πa/2)/a in x = a²; the rest is below 2^-100 at x = 1."""
    half_pi = Interval.pi(PRECISION) * 0.5
    cosine, sine, power = [], [], point(1.0)
    for n in range(_TERMS):
        sign = 1 if n % 2 == 0 else -1
        cosine.append(power * ratio(Fraction(sign, math.factorial(2 * n))))
        power = power * half_pi
        sine.append(power * ratio(Fraction(sign, math.factorial(2 * n + 1))))
        power = power * half_pi
    return cosine, sine


def truncation() -> tuple[float, float]:
    """How far the two polynomials of `half_cos_sin_series`, in exact arithmetic, are from the functions."""
    out = np.empty((2, 1), dtype=object)
    box_muller.half_cos_sin_series(Polynomial.variable(), out)
    errors = []
    for row, exact in zip(out[:, 0], _half_turn_taylor(), strict=True):
        difference = [ratio(row.coefficient(n)) - c for n, c in enumerate(exact)]
        errors.append(chebyshev_norm(difference) + 2.0**-100)
    return errors[0], errors[1]


def _turn(low: float, high: float) -> tuple[Rounded, Rounded]:
    """cos(πa) and sin(πa) as `cos_sin_of_half_turns` computes them, |a| from ``low`` to ``high``."""
    a = array(Rounded.box(low, high))
    x, out = np.empty(1, dtype=object), np.empty((2, 1), dtype=object)
    box_muller.cos_sin_of_half_turns(a, x, out)
    return out[0, 0], out[1, 0]


def direction_error() -> float:
    """Bounds the error of cos θ and sin θ over all angles: rounding on small boxes, and the polynomials' own.

    The polynomials move S by at most e_s and C by e_c: sin θ = 2SC by 2(e_s + e_c + e_s·e_c), cos θ = 1 − 2S²
    by 4e_s + 2e_s². The float64 of a turns the angle: it is off by u|a| for its rounding and by 2^-63 for the
    bits that are not in the word.
    """
    rounding = 0.0
    for i in range(_ANGLES):
        cosine, sine = _turn(i / _ANGLES, (i + 1) / _ANGLES)
        rounding = max(rounding, cosine.worst, sine.worst)
    in_cosine, in_sine = truncation()
    turn = upper((point(UNIT) + 2.0**-63) * Interval.pi(PRECISION))
    return turn + rounding + 1.01 * max(2.0 * (in_sine + in_cosine), 4.0 * in_sine)


def uniform_box(low: float, high: float) -> Rounded:
    """U from ``low`` to ``high``; what `log_uniform` reads is off by 2^-63, and by u of that."""
    return Rounded.box(low, high, upper(point(2.0**-63) + (point(high) + 2.0**-63) * UNIT))


def _value_error(uniform: Rounded) -> float:
    """Largest error of σr cos θ and σr sin θ in units of σ, with one more rounding for the shift.

    Relative errors do not depend on σ: σ = 1 stands for all, its products counted as rounded.
    """
    radius = array(uniform.log())
    box_muller.log_to_radius(radius, Rounded(point(1.0), point(0.0)))
    direction = Rounded(Rounded.box(-1.0, 1.0).value, point(DIRECTION))
    return (radius[0] * direction + 0.0).worst


def near_zero_errors() -> list[float]:
    """The error for U from 2^-(i+1) to 2^-i, i = 1 … 31, each in four boxes."""
    return [
        max(_value_error(uniform_box(u * (1 + part / 4), u * (1 + (part + 1) / 4))) for part in range(4))
        for u in (2.0 ** -(i + 1) for i in range(1, _MOST.low))
    ]


def near_one_errors() -> list[float]:
    """The error for 1 − U from 2^-(i+1) to 2^-i, i = 1 … 34, each in four boxes."""
    return [
        max(
            _value_error(uniform_box(1.0 - v * (1 - part / 8), 1.0 - v * (1 - (part + 1) / 8)))
            for part in range(4)
        )
        for v in (2.0**-i for i in range(1, _MOST.high))
    ]


def bounds() -> list[Bound]:
    """The direction, and the tightest of all pairs of void edges between those of the widest and narrowest σ.

    `error_bound` adds 8u to `budget` for the shift, of which u/2 is needed.
    """
    least = box_muller.edges(MAX_STDDEV)
    near_zero, near_one = near_zero_errors(), near_one_errors()
    pairs = [
        (
            max(*near_zero[: low - 1], *near_one[: high - 1]),
            _ROOM * box_muller.budget(box_muller.Edges(low, high)),
        )
        for low in range(least.low, _MOST.low + 1)
        for high in range(least.high, _MOST.high + 1)
    ]
    worst = max(pairs, key=lambda pair: pair[0] / pair[1])
    return [
        Bound("box_muller: cos and sin of any angle", direction_error(), DIRECTION),
        Bound("box_muller: value over sigma, the tightest pair of void edges", *worst),
    ]
