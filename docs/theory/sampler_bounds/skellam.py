r"""The acceptance probability of `discreet.mechanisms.skellam`, for every μ from 4096 to 2^81 and |k| ≤ 13√μ.

Three errors add up: the saddle series stops after sixteen terms, Debye's after three, and float64 rounds. For
the second, docs/theory/integers.md, Lemma D: with s = 2 sin(θ/2) the integral of the sampler's module is

    √(2πW)·J = E[F(Y/√W)] up to 2^-1000,   F(s) = cos(W p h(s))·(1 − s²/4)^(−1/2),  p = k/W,

Y normal, h(s) = 2 asin(s/2) − s√(1 − s²/4) = s³/6 + …. Every power series in it has positive coefficients.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np

from discreet.mechanisms import skellam

from .bound import Bound
from .polynomial import Polynomial
from .rounded import Rounded, array

REACH_SQUARED = 169
MIN_VARIANCE = 4096
_MAX_LOG_VARIANCE = 81
_ORDER = 4
_TERMS = 20


def _product(a: list[Fraction], b: list[Fraction]) -> list[Fraction]:
    """Product of two power series in s², truncated."""
    return [sum((a[i] * b[n - i] for i in range(n + 1)), Fraction(0)) for n in range(_TERMS)]


def _width() -> list[Fraction]:
    """(1 − s²/4)^(−1/2) in powers of s²."""
    return [Fraction(math.comb(2 * n, n), 16**n) for n in range(_TERMS)]


def _phase() -> list[Fraction]:
    """h(s)/s³ in powers of s²: h' = (s²/2)·(1 − s²/4)^(−1/2)."""
    return [c / (2 * (2 * n + 3)) for n, c in enumerate(_width())]


def _term(i: int) -> list[Fraction]:
    """(h/s³)^(2i)·(1 − s²/4)^(−1/2) in powers of s²."""
    out = _width()
    for _ in range(2 * i):
        out = _product(out, _phase())
    return out


def _double_factorial(n: int) -> int:
    """(2n − 1)!!, the 2n-th moment of the normal law."""
    return math.prod(range(1, 2 * n, 2))


def expansion() -> list[list[Fraction]]:
    """Coefficients [order in 1/W][power of p²] of E[F(Y/√W)], orders 1 to 3."""
    return [
        [
            Fraction((-1) ** i, math.factorial(2 * i))
            * _term(i)[order - i]
            * _double_factorial(order + 2 * i)
            for i in range(order + 1)
        ]
        for order in range(1, _ORDER)
    ]


def debye_mismatch() -> Fraction:
    """Largest difference between those coefficients and the ones of `debye_terms`."""
    p2 = Polynomial.variable()[0]
    orders = [Polynomial(tuple(row)) for row in expansion()]
    # Three values of w tell its three powers apart.
    differences = [
        skellam.debye_terms(p2, w) - sum(row * w**order for order, row in enumerate(orders, 1))
        for w in (1, 2, 3)
    ]
    return max(abs(c) for difference in differences for c in difference.coefficients)


def debye_remainder() -> float:
    """Bounds |E[F(Y/√W)] − its first three orders|·W^4 for p² ≤ 169/4096.

    Order 4 and beyond of the i-th cosine term: on s ≤ 1 the rest of a series with positive coefficients is at
    most s^(2(4−i)) times its value at s = 1 less the first coefficients; |cos z − Σ_{i<4}| ≤ z^8/8!.
    """
    p2 = REACH_SQUARED / MIN_VARIANCE
    whole = 2.0 / math.sqrt(3.0)
    phase = math.pi / 3.0 - math.sqrt(0.75)
    total = 0.0
    for i in range(_ORDER + 1):
        rest = phase ** (2 * i) * whole - float(sum(_term(i)[: _ORDER - i]))
        total += p2**i / math.factorial(2 * i) * rest * _double_factorial(_ORDER + 2 * i)
    # Beyond s = 1 all moments have e^(−W/2)·W^12 at most, W ≥ 4096.
    return 1.000001 * total + 2.0**-1000


def truncation() -> float:
    """Bounds |ln a(k) in exact arithmetic by `log_ratio`'s formula − ln a(k)|."""
    x2 = Fraction(REACH_SQUARED, MIN_VARIANCE)
    series = skellam.saddle_series(Polynomial.variable())[0]
    saddle = sum(
        (abs(series.coefficient(j) - _saddle_coefficient(j)) * x2**j for j in range(1, 17)), Fraction(0)
    )
    # The next term bounds an alternating series' rest; W^-4 is largest at μ = 4096, and 1 + ΣU above 0.99.
    saddle = REACH_SQUARED * (saddle + abs(_saddle_coefficient(17)) * x2**17)
    return float(saddle) + 2.0 * debye_remainder() / MIN_VARIANCE**_ORDER / 0.98


def _saddle_coefficient(j: int) -> Fraction:
    """c_j = −binom(−1/2, j)/((2j+1)(2j+2)), binom(−1/2, j) = (−1/4)^j·binom(2j, j)."""
    return -Fraction((-1) ** j * math.comb(2 * j, j), 4**j * (2 * j + 1) * (2 * j + 2))


def rounding() -> float:
    """Bounds what float64 adds to 1 − a(k), its uniform included, on boxes of k/√μ and octaves of μ."""
    worst = 0.0
    for log_variance in range(12, _MAX_LOG_VARIANCE):
        low, high = 2.0**log_variance, 2.0 ** (log_variance + 1)
        # 1 − μ/s² for ε = 1.001·169/(12μ) + 2^-50 and an s rounded a few times; one rounding of its own.
        excess = Rounded.box(0.0, 15.0 / low + 2.0**-49, (15.0 / low + 2.0**-49) * 2.0**-53)
        for left, right in pairwise(np.linspace(0.0, 13.0, 8)):
            # The ends' own rounding is less than the room.
            k = array(Rounded.box(0.999 * left * math.sqrt(low), 1.001 * right * math.sqrt(high)))
            log = skellam.log_ratio(k, array(Rounded.box(low, high)), array(excess))
            worst = max(worst, np.expm1(log).item().worst)
    # u is a word's 53 leading bits, of the comparison's size, and half a unit for each subtraction.
    return worst + 2.0**-52


def screen() -> float:
    """Bounds μ(1 − a(k)), less what 2^-50 in ε adds: Lemma A of docs/theory/integers.md, term by term."""
    reach, v = float(REACH_SQUARED), 1.0 / MIN_VARIANCE
    quadratic = (1.00102 * reach) ** 2 / 96.0
    return 1.001 * (quadratic + reach**3 * v / 80.0 + reach / 4.0 + 0.02)


def bounds() -> list[Bound]:
    """Debye's coefficients, and the acceptance probability against the sampler's tolerance."""
    total = (1.0 + 2.0**-10) * truncation() + rounding()
    return [
        Bound("skellam: coefficients of Debye's expansion", float(debye_mismatch()), 0.0),
        Bound("skellam: acceptance probability", total, skellam._TOLERANCE),
        Bound("skellam: mu times the probability of rejection", screen(), 1.2 * REACH_SQUARED**2 / 96.0),
    ]
