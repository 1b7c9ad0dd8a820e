r"""Dithered rounding of a silo's sum: one uniform dither a coordinate, and what it does to sensitivity.

R(x) = ⌊x + u⌋ with u uniform in [0, 1)^d, x in grid units. For neighbouring x and x + g the difference
R(x + g) − R(x) has, coordinate by coordinate and independently, the law of stochastic rounding of g, because
the fractional part of x + u is uniform. Hence the bounds below hold although only the *sum* over records
is rounded, and per-record gradients need not exist.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.errors import ConfigurationError
from discreet.randomness import RandomSource

UNIT_ROUNDOFF = 2.0**-53


@dataclass(frozen=True, slots=True)
class RoundedSensitivity:
    """An L2 bound in grid units, and the probability over the dither with which it may fail."""

    bound: float
    failure_prob: float


def rounded_l2_bound(l2_bound: float, dimension: int, beta: float) -> RoundedSensitivity:
    r"""Bounds the L2 norm of the stochastic rounding of a vector of norm at most ``l2_bound``.

    Guarantee:
        ‖R(g)‖² ≤ ‖g‖² + d/4 + √(2 ln 1/β)·(‖g‖ + √d/2) with probability at least 1 − β, and always
        ‖R(g)‖ ≤ ‖g‖ + √d; the smaller is returned. Kairouz, Liu, Steinke (2021), arXiv:2102.06387,
        Theorem 1 and Section 4.1.

    Args:
        l2_bound: grid units.
        dimension: number of coordinates d.
        beta: failure probability in [0, 1); 0 asks for the bound that always holds.

    Raises:
        ConfigurationError: if ``l2_bound`` is not positive or ``beta`` is outside [0, 1).

    Example:
        >>> rounded_l2_bound(10.0, dimension=4, beta=0.0)
        RoundedSensitivity(bound=12.0, failure_prob=0.0)
    """
    if not (l2_bound > 0 and math.isfinite(l2_bound)):
        raise ConfigurationError(f"l2_bound must be positive and finite, in grid units; got {l2_bound}.")
    if not 0.0 <= beta < 1.0:
        raise ConfigurationError(f"beta must be in [0, 1); got {beta}.")
    root = math.sqrt(dimension)
    certain = l2_bound + root
    if beta == 0.0:
        return RoundedSensitivity(certain, 0.0)
    deviation = math.sqrt(2.0 * math.log(1.0 / beta)) * (l2_bound + 0.5 * root)
    likely = math.sqrt(l2_bound**2 + 0.25 * dimension + deviation)
    return RoundedSensitivity(likely, beta) if likely < certain else RoundedSensitivity(certain, 0.0)


def arithmetic_error(l2_norm: float, dimension: int) -> float:
    r"""Bounds how far float64 moves a vector of norm ``l2_norm`` before it is rounded; grid units.

    Scaling rounds every coordinate by a factor within 1 ± 2^-53. The dither is a multiple of 2^-53, which is
    exact dithering of the coordinate moved by at most 2^-53. The difference of two vectors moves by twice
    the result.
    """
    return UNIT_ROUNDOFF * (l2_norm + math.sqrt(dimension))


def round_dithered(values: Floats, randomness: RandomSource) -> Integers:
    """Returns ⌊values + u⌋, u fresh and uniform; unbiased; every result is within 1 of its value.

    Magnitudes must be below 2^52, where float64 still has fractional bits.
    """
    nearest = np.rint(values)
    # Exact: a float64 minus its nearest integer is a float64.
    fraction = values - nearest
    fraction += randomness.uniform(len(values))
    np.floor(fraction, out=fraction)
    nearest += fraction
    return nearest.astype(np.int64)
