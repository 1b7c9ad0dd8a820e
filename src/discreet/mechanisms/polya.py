r"""One share of discrete Laplace noise that several silos add up: the difference of two negative binomials.

A negative binomial of shape r has weights w_0 = 1, w_{k+1} = w_k·p·(k + r)/(k + 1), p = exp(−1/b). They are
worked out in integers to 256 bits and inverted from a table (docs/theory/integers.md, section 7).
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from mpmath import libmp
from scipy.special import gammaln, logsumexp

from discreet.arrays import Floats, Integers
from discreet.mechanisms.inversion import InversionTable
from discreet.mechanisms.scratch import Scratch
from discreet.privacy.events import PolyaNoise
from discreet.randomness import RandomSource

POLYA_TV = 2.0**-104
"""Between a drawn coordinate and its law: two draws, each within 2^-105."""

_WEIGHT_BITS = 256
_TAIL_BITS = 140


def draw_polya(scale: float, whole: int, out: Integers, randomness: RandomSource, scratch: Scratch) -> None:
    """Fills ``out`` with shares, ``whole`` of which add up to discrete Laplace noise of ``scale``."""
    table = negative_binomial_table(scale, whole)
    table.draw(out, randomness, scratch)
    less = scratch.integers("less", len(out))
    table.draw(less, randomness, scratch)
    out -= less


@lru_cache(maxsize=16)
def negative_binomial_table(scale: float, whole: int) -> InversionTable:
    """Returns the inversion table of a negative binomial of shape 1/``whole`` and p = exp(−1/``scale``).

    Its last value stands for all larger ones, whose probability is below 2^-140.
    """
    decay = decay_of(scale)
    # Weights fall at least as fast as p^k: what is left out after w is below w/(1 − p).
    smallest = (((1 << _WEIGHT_BITS) - decay) >> _TAIL_BITS) or 1
    weights = [1 << _WEIGHT_BITS]
    while weights[-1] > smallest:
        k = len(weights) - 1
        weights.append(weights[-1] * decay * (k * whole + 1) // (((k + 1) * whole) << _WEIGHT_BITS))
    return InversionTable.from_weights(0, weights)


def decay_of(scale: float) -> int:
    """Returns p = exp(−1/scale) in units of 2^-256, rounded down."""
    inverse = libmp.mpf_div(libmp.fnone, libmp.from_float(scale), _WEIGHT_BITS + 64, libmp.round_down)
    raised = libmp.mpf_exp(inverse, _WEIGHT_BITS + 64, libmp.round_down)
    return int(libmp.to_int(libmp.mpf_shift(raised, _WEIGHT_BITS)))


def difference_probs(scale: float, shape: float) -> Floats:
    """Returns P[X = 0], P[X = 1], … of a difference of two negative binomials, until about 1e-15 is left.

    Args:
        scale: of the discrete Laplace noise that shape 1 makes.
        shape: how many wholes of shares are in the sum.
    """
    places = np.arange(math.ceil(scale * (40.0 + 8.0 * shape)) + 8)
    logs = gammaln(places + shape) - gammaln(shape) - gammaln(places + 1.0) - places / scale
    masses = np.exp(logs - logsumexp(logs))
    count = len(masses)
    turned = np.fft.rfft(masses, 2 * count)
    probs: Floats = np.maximum(np.fft.irfft((turned * turned.conj()).real, 2 * count)[:count], 0.0)
    return probs


def normal_variance(law: PolyaNoise, level: float) -> float:
    """Returns the variance of a normal law as wide in its middle ``level``; no less than its own.

    Example:
        >>> law = PolyaNoise(10.0, whole=2, num_silos=2)
        >>> round(law.variance), round(normal_variance(law, 0.95))
        (200, 234)
    """
    half = central_half_width(law.scale, law.num_silos / law.whole, level)
    return max(law.variance, (half / NormalDist().inv_cdf(0.5 + level / 2.0)) ** 2)


def central_half_width(scale: float, shape: float, level: float) -> int:
    """Returns the smallest h with P[|X| ≤ h] ≥ ``level``, for X as in `difference_probs`."""
    probs = difference_probs(scale, shape)
    within = np.cumsum(np.concatenate([probs[:1], 2.0 * probs[1:]]))
    return int(np.searchsorted(within, level))
