"""The acceptance probabilities of `symmetric_binomial` and `wide_binomial`, for all their n, p and offsets.

Stirling's series envelops: δ(m) = 1/(12m) − 1/(360m³) + ϑ/(1260m⁵) with 0 < ϑ < 1 (DLMF 5.11(ii)).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np

from discreet.mechanisms import symmetric_binomial, wide_binomial

from .bound import Bound
from .polynomial import Polynomial
from .rounded import LIBRARY, UNIT, Rounded, array

REACH = 13
_MIN_HALF = 4096
_MAX_LOG_HALF = 20
_HALF_REACH_SQUARED = Fraction(REACH**2, 2)


def _mismatch(series: Callable, true: Callable[[int], Fraction], last: int, x: Fraction) -> Fraction:
    """Bounds |series − its infinite original| on [0, x]: coefficients, and a geometric rest."""
    found = series(Polynomial.variable())[0]
    known = sum((abs(found.coefficient(j) - true(j)) * x**j for j in range(last + 1)), Fraction(0))
    return known + abs(true(last + 1)) * x ** (last + 1) / (1 - x)


def symmetric_truncation() -> float:
    """Bounds |ln a(k) by `log_ratio`'s formula − ln a(k)|, n ≥ 4096, k² ≤ 13²·n/2·(1 + 2^-10)."""
    n = _MIN_HALF
    nx2 = _HALF_REACH_SQUARED * (1 + Fraction(1, 2**10))
    x2 = nx2 / n
    series = nx2 * _mismatch(symmetric_binomial.entropy_series, _entropy, 16, x2)
    # n ± k is above 0.85n: δ's third term, once with weight 2 and twice with weight 1.
    stirling = Fraction(1, 1260) * (2 + 2 / Fraction(85, 100) ** 5) / n**5
    return float(series + stirling)


def _entropy(j: int) -> Fraction:
    """Coefficient of x^(2j) in Σ_{i≥2} x^(2i−2)/(i(2i−1))."""
    return Fraction(1, (j + 1) * (2 * j + 1)) if j >= 1 else Fraction(0)


def _stirling(m: Fraction) -> Fraction:
    """The first two terms of δ(m)."""
    return 1 / (12 * m) - 1 / (360 * m**3)


def stirling_mismatch() -> Fraction:
    """Largest difference between the samplers' corrections and δ's two terms, at more points than decide it.

    Both are rational functions: of m with numerators of degree 2; of x² with numerators of degree at most 4,
    n occurring in two powers.
    """
    found = [
        abs(wide_binomial.delta(Polynomial.number(m)).item().coefficient(0) - _stirling(Fraction(m)))
        for m in range(1, 9)
    ]
    for n in (1, 2, 3):
        for x in (Fraction(i, 9) for i in range(8)):
            computed = symmetric_binomial.stirling_difference(Polynomial.number(x * x), Polynomial.number(n))
            exact = 2 * _stirling(Fraction(n)) - _stirling(n * (1 + x)) - _stirling(n * (1 - x))
            found.append(abs(computed.item().coefficient(0) - exact))
    return max(found)


def symmetric_rounding() -> float:
    """Bounds what float64 adds to 1 − a(k), on boxes of k/√n, n from 2^12 to 2^20, each a power of two."""
    worst = 0.0
    for log_half in range(12, _MAX_LOG_HALF + 1):
        half = 2.0**log_half
        excess = Rounded.box(0.0, 0.6 / half + 2.0**-49, (0.6 / half + 2.0**-49) * UNIT)
        for left, right in pairwise(np.linspace(0.0, 1.001 * REACH / math.sqrt(2.0), 27)):
            k = array(Rounded.box(left * math.sqrt(half), right * math.sqrt(half)))
            log = symmetric_binomial.log_ratio(k, array(Rounded.box(half, half)), array(excess))
            worst = max(worst, np.expm1(log).item().worst)
    return worst + 2.0**-52


def symmetric_screen() -> float:
    """Bounds n(1 − a(k)): nx⁴/6 and its successors at 13 deviations, the proposal's excess, and Stirling."""
    n, nx2 = _MIN_HALF, float(_HALF_REACH_SQUARED)
    x2 = nx2 / n
    return nx2**2 / 6.0 / (1.0 - x2) + 0.502 * nx2 + nx2 / n / 5.0


def wide_truncation() -> float:
    """Bounds |ln a(j) by `log_ratio`'s formula − ln a(j)| for n ≥ 2^22, p from 1/4 to 3/4, |j| ≤ 13s."""
    n = wide_binomial.MIN_TRIALS
    r = Fraction(26001, 1000) / 2**11
    # np·g(r) = np·r³·(…), and np·|r|³ ≤ 26.001³/√n·p, p + q = 1; the sign of r does not matter for the bound.
    series = n * r**3 * _mismatch(_cofactor, _g_cofactor, 9, r)
    stirling = Fraction(1, 1260) * 3 / (Fraction(n, 4) * (1 - r)) ** 5
    return float(series + stirling)


def _cofactor(x: np.ndarray) -> np.ndarray:
    """−g(r)/r³ as a polynomial: `g_series` has r³ as a factor."""
    whole = wide_binomial.g_series(x)[0]
    out = np.empty(1, dtype=object)
    out[0] = Polynomial(tuple(-c for c in whole.coefficients[3:]))
    return out if not any(whole.coefficients[:3]) else np.array([np.nan])


def _g_cofactor(j: int) -> Fraction:
    """Coefficient of r^j in −g(r)/r³ = Σ_{i≥3} (−r)^(i−3)/(i(i−1))."""
    return Fraction((-1) ** j, (j + 3) * (j + 2))


def wide_rounding() -> float:
    """Bounds what float64 adds to a(j), its uniform included, on boxes of n, p and j/√n."""
    worst = 0.0
    for log_trials in range(22, 82):
        low, high = 2.0**log_trials, 2.0 ** (log_trials + 1)
        trials = array(Rounded.box(low, high, high * UNIT))
        # s rounds √n, a product and a sum.
        stddev = array(Rounded.box(0.4999 * math.sqrt(low), 0.5001 * math.sqrt(high)))
        fraction = array(Rounded.box(-0.5, 0.5, UNIT))
        for p in np.linspace(0.25, 0.75, 5)[:-1]:
            prob = array(Rounded.box(float(p), float(p) + 0.125))
            for left, right in pairwise(np.linspace(-6.501, 6.501, 7)):
                ends = [x * math.sqrt(n) for x in (left, right) for n in (low, high)]
                offset = array(Rounded.box(min(ends), max(ends)))
                log = wide_binomial.log_ratio(trials, prob, fraction, offset, stddev)
                worst = max(worst, log.item().worst)
    # a(j) ≤ 1, so that its error is that of its logarithm, and the exponential's own.
    return 1.001 * worst + LIBRARY * UNIT + 2.0**-52


def wide_room() -> float:
    """Bounds √n·ln(a(j)·e^(700/√n)), term by term: Lemma B of docs/theory/integers.md."""
    root = 2.0**11
    d = 6.5 + 0.5 / root + 1e-6
    r = 4.0 * d / root
    square = REACH
    cubic = d**3 / 6.0 * (16.0 - 16.0 / 9.0)
    quintic = d**5 * 4.0**4 / 20.0 / root**2 / (1.0 - r)
    logarithm = d * (4.0 - 4.0 / 3.0) / 2.0 + (1.0 + 1.0 / 9.0) * (4.0 * d) ** 2 / 4.0 / root / (1.0 - r)
    return square + cubic + quintic + logarithm


def bounds() -> list[Bound]:
    """Both acceptance probabilities, the screen of the one and the room of the other."""
    symmetric = (1.0 + 2.0**-10) * symmetric_truncation() + symmetric_rounding()
    wide = (1.0 + 2.0**-10) * wide_truncation() + wide_rounding()
    return [
        Bound("binomials: coefficients of Stirling's series", float(stirling_mismatch()), 0.0),
        Bound("symmetric_binomial: acceptance probability", symmetric, symmetric_binomial._TOLERANCE),
        Bound("symmetric_binomial: n times the probability of rejection", symmetric_screen(), 1600.0),
        Bound("wide_binomial: acceptance probability", wide, wide_binomial._TOLERANCE),
        Bound("wide_binomial: room under 1, times the root of n", wide_room(), wide_binomial._ROOM),
    ]
