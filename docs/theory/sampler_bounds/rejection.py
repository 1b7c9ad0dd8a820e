"""The float64 rejection probability of `discreet.mechanisms.thinning`.

With z = kt/σ², |z| ≤ ρ/2 for ρ = `_reach`, and t off by η = `error_bound`, the probability 1 − 1/cosh z moves
by at most ηρ·min(ρ/2, 1/2), its derivative tanh z/cosh z being at most min(|z|, 1/2). Where ρ ≥ 1 the
sampler's ρ²η/2 leaves (ρ² − ρ)η/2 for rounding, besides its 2^-50; elsewhere only that.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from discreet.mechanisms import thinning
from discreet.mechanisms.box_muller import error_bound
from discreet.mechanisms.domain import MIN_STDDEV

from .bound import Bound
from .rounded import UNIT, Rounded, array, point

_GROWTH = 1.05


def rounding(low: float, high: float, stddev: Rounded) -> float:
    """Bounds what float64 adds to the comparison for |z| from ``low`` to ``high``, t being exact.

    Only the product kt is rounded, so that t = 1/2 stands for all; the word's rounding and the subtractions
    add at most 2u of the probability.
    """
    k = array(Rounded(stddev.value * stddev.value * Rounded.box(2.0 * low, 2.0 * high).value, point(0.0)))
    found = thinning.rejection(k, array(Rounded.box(0.5, 0.5)), array(stddev)).item()
    return found.worst + 2.0 * UNIT * min(1.0, high * high) + 2.0**-63


def _over(reach: float, stddev: Rounded) -> float:
    """The same for all |z| up to ``reach``/2."""
    ends = np.linspace(0.0, 0.5 * reach, math.ceil(4.0 * reach))
    return max(rounding(float(low), float(high), stddev) for low, high in pairwise(ends))


def narrow() -> Bound:
    """Where ρ > 1: σ in boxes; the box in which the room is used most."""
    found = []
    low = MIN_STDDEV
    while thinning._reach(low) > 1.0:
        high = low * _GROWTH
        reach = thinning._reach(low)
        at_end = max(1.0, thinning._reach(high))
        room = 0.5 * (at_end**2 - at_end) * min(error_bound(low), error_bound(high)) + 2.0**-50
        found.append((_over(reach, Rounded.box(low, high)), room))
        low = high
    worst = max(found, key=lambda pair: pair[0] / pair[1])
    return Bound("thinning: rounding where sigma is below 10", *worst)


def wide() -> Bound:
    """Where ρ ≤ 1: relative errors do not depend on σ, and σ = 1 stands for all."""
    return Bound("thinning: rounding where sigma is above 10", _over(1.0, Rounded.box(1.0, 1.0)), 2.0**-50)


def bounds() -> list[Bound]:
    """Thinning in its two regimes."""
    return [narrow(), wide()]
