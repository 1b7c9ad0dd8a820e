r"""Pairs of Gaussians in float64 with a proven error bound, and the same pairs to any precision.

Box and Muller (1958): for independent uniform U, V in (0, 1), r = √(−2 ln U) and θ = 2πV, the pair
(σ r cos θ, σ r sin θ) is two independent N(0, σ²). Here U and V are *real* numbers, given by endless bit
strings (`bits.Tails`). `gaussian_pairs` computes from their first 64 bits with an absolute error below
`error_bound`; `GaussianPairs.exact` computes the same numbers as intervals from as many bits as it takes.
Whoever rounds the fast value, and asks the exact one near a boundary, samples the rounded *real* Gaussian.

Error budget of the fast value in units of σ, u = 2^-53:
  - U is read as a float64 of relative error u, 2^-63 above or below the real one, so that L = −ln U is off
    by at most u + 2^-63/U + 8u·L; the last term takes `numpy.log` to be within 4 units in the last place,
    NumPy's own test bound (CHECKED by the tests of this module).
  - Pairs with L < 2^-e or L > 16 ln 2 are *unresolved*: nothing is promised. Elsewhere r = √(2L) lies in
    [2^((1-e)/2), 4.71], and δr ≤ δL/r + u·r ≤ 1.01u·2^((e-1)/2) + 2^-47/4.7 + 5u·4.71.
  - S ≈ sin(θ/2) and C ≈ cos(θ/2) have absolute error below 2^-51 (CHECKED: 2^-51.9), and sin θ = 2SC,
    cos θ = 1 − 2S² are then within 2^-49.
The sum 4.71·(2^-49 + u) + 1.01u·2^((e-1)/2) + 2^-49.2 + 24u is below 2^-46 + 2^(e/2-53), the bound used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.mechanisms.bits import GUARD_BITS, Tails
from discreet.mechanisms.intervals import Interval
from discreet.randomness import RandomSource

Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]

# Chebyshev interpolation in x = a² on [0, 1] with 50 digits: sin(πa/2)/a and cos(πa/2), |a| <= 1.
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
MAX_RADIUS = 4.71

_LOW_LOG = 16.0 * np.log(2.0)
# Where many values are resolved near rounding boundaries anyway (wide noise), a wider unresolved centre
# buys a smaller error bound.
_WIDE_STDDEV = 2.0**26


def edge_bits(stddev: float) -> int:
    """The e of the module's error budget: pairs with −ln U < 2^-e are left to the exact path."""
    return 16 if stddev < _WIDE_STDDEV else 9


def error_bound(stddev: float) -> float:
    """Absolute error that no resolved value of `gaussian_pairs` exceeds."""
    return stddev * float(2.0**-46 + 2.0 ** (edge_bits(stddev) / 2 - 53))


@dataclass(frozen=True, slots=True, repr=False)
class GaussianPairs:
    """One batch of Gaussian reals: approximate ``values``, where they are void, and the way to the truth.

    Attributes:
        stddev: σ.
        values: shape ``(2m,)``, the m cosines, then the m sines; off by less than ``error_bound(stddev)``.
        void: shape ``(2m,)`` booleans, or None if all values are good: where ``values`` promises nothing.
    """

    stddev: float
    values: Floats
    void: npt.NDArray[np.bool_] | None
    words: Words
    tails: Tails

    def exact(self, index: int, extra_bits: int) -> Interval:
        """The real number behind ``values[index]``, from ``64 + extra_bits`` bits of each uniform."""
        m = len(self.words) // 2
        pair = index % m
        precision = GUARD_BITS + extra_bits
        u = self.tails.uniform(int(self.words[pair]), b"radius", pair, extra_bits)
        v = self.tails.uniform(int(self.words[m + pair]), b"angle", pair, extra_bits)
        radius = (u.log() * -2.0).sqrt()
        cosine, sine = (v * Interval.pi(precision) * 2.0).cos_sin()
        return radius * (cosine if index < m else sine) * self.stddev


def gaussian_pairs(stddev: float, num_pairs: int, randomness: RandomSource) -> GaussianPairs:
    """Draws ``num_pairs`` pairs of independent N(0, ``stddev``²) reals, shape ``(2 * num_pairs,)``."""
    words = randomness.words(2 * num_pairs)
    tails = Tails.drawn_from(randomness)
    logs = _log_uniform(words[:num_pairs])
    void = _unresolved(logs, edge_bits(stddev))
    logs *= -2.0 * stddev * stddev
    radius = np.sqrt(logs, out=logs)
    values = np.empty(2 * num_pairs)
    _cos_sin_turn(words[num_pairs:], values[:num_pairs], values[num_pairs:])
    values[:num_pairs] *= radius
    values[num_pairs:] *= radius
    return GaussianPairs(stddev, values, None if void is None else np.tile(void, 2), words, tails)


def _log_uniform(words: Words) -> Floats:
    """Logarithms of the uniforms that start with ``words``; the smallest are clamped, as they are void."""
    uniform = (words >> np.uint64(1)).view(np.int64).astype(np.float64)
    uniform *= 2.0**-63
    np.maximum(uniform, 2.0**-64, out=uniform)
    return np.log(uniform, out=uniform)


def _unresolved(logs: Floats, edge: int) -> npt.NDArray[np.bool_] | None:
    """Where ln U is too near 0 or too far from it for the error budget; None if nowhere."""
    high, low = -(2.0**-edge), -_LOW_LOG
    if len(logs) == 0 or (logs.max() < high and logs.min() > low):
        return None
    return np.asarray((logs >= high) | (logs <= low))


def _cos_sin_turn(words: Words, cosines: Floats, sines: Floats) -> None:
    """Writes cos and sin of 2π times the uniforms that start with ``words``, through the half angle."""
    # Two's complement reads [1/2, 1) as [-1/2, 0): the same angle.
    a = words.view(np.int64).astype(np.float64)
    a *= 2.0**-63
    x = a * a
    s = _polynomial(x, SIN_HALF_TURN, sines)
    s *= a
    c = _polynomial(x, COS_HALF_TURN, cosines)
    c *= s
    np.multiply(s, s, out=x)
    np.add(c, c, out=s)
    x *= -2.0
    np.add(x, 1.0, out=c)


def _polynomial(x: Floats, coefficients: tuple[float, ...], out: Floats) -> Floats:
    """Horner's rule into ``out``."""
    np.multiply(x, coefficients[-1], out=out)
    for coefficient in coefficients[-2:0:-1]:
        out += coefficient
        out *= x
    out += coefficients[0]
    return out
