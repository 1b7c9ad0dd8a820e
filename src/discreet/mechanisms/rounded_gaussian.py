r"""The default noise: a real Gaussian, rounded to the nearest integer, exactly.

Every draw is round(N(0, σ²)), without approximation: the float64 value decides wherever it is further from
a half-integer than its proven error, and interval arithmetic decides elsewhere (`box_muller`). Total
variation from the stated law is 0, granted uniform bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.mechanisms.bits import FIRST_EXTRA_BITS
from discreet.mechanisms.box_muller import GaussianPairs, error_bound, gaussian_pairs
from discreet.mechanisms.exponentials import Floats, Indices
from discreet.mechanisms.intervals import Interval
from discreet.randomness import RandomSource


@dataclass(frozen=True, slots=True, repr=False)
class RoundedBatch:
    """Gaussian reals split at the nearest integer.

    Attributes:
        pairs: the reals.
        nearest: shape ``(count,)``, the nearest integers as float64; right except at ``undecided``.
        distances: shape ``(count,)``, |real − nearest|, off by less than the pairs' error bound.
        undecided: indices at which the nearest integer is not known yet; see `exact_nearest`.
    """

    pairs: GaussianPairs
    nearest: Floats
    distances: Floats
    undecided: Indices


def rounded_batch(stddev: float, count: int, randomness: RandomSource) -> RoundedBatch:
    """Draws ``count`` Gaussian reals and splits each at its nearest integer where that is certain."""
    pairs = gaussian_pairs(stddev, (count + 1) // 2, randomness)
    distances = pairs.values[:count]
    nearest = np.rint(distances)
    distances -= nearest
    np.abs(distances, out=distances)
    close = distances > 0.5 - error_bound(stddev)
    half = len(pairs.values) // 2
    close[pairs.void_pairs] = True
    close[half:][pairs.void_pairs[pairs.void_pairs + half < count]] = True
    undecided = np.flatnonzero(close)
    if len(undecided):
        undecided = _decide_extended(pairs, undecided, nearest, distances)
    return RoundedBatch(pairs, nearest, distances, undecided)


def _decide_extended(pairs: GaussianPairs, indices: Indices, nearest: Floats, distances: Floats) -> Indices:
    """Settles what extended precision can, in place; returns the rest."""
    values, errors = pairs.extended(indices)
    integers = np.rint(values)
    offsets = np.abs(values - integers)
    settled = (offsets < 0.5 - errors) & (errors <= error_bound(pairs.stddev))
    nearest[indices[settled]] = integers[settled]
    distances[indices[settled]] = offsets[settled]
    return indices[~settled]


def exact_nearest(pairs: GaussianPairs, index: int) -> tuple[int, Interval, int]:
    """Decides the nearest integer of one real; returns it, the real, and how many extra bits it took."""
    extra_bits = FIRST_EXTRA_BITS
    while True:
        real = pairs.exact(index, extra_bits)
        nearest = (real + 0.5).floor()
        if nearest is not None:
            return nearest, real, extra_bits
        extra_bits *= 2


def draw_rounded_gaussian(stddev: float, count: int, randomness: RandomSource) -> npt.NDArray[np.int64]:
    """Draws ``count`` independent round(N(0, ``stddev``²)), exactly; shape ``(count,)``."""
    batch = rounded_batch(stddev, count, randomness)
    out = batch.nearest.astype(np.int64)
    for index in batch.undecided:
        out[index] = exact_nearest(batch.pairs, int(index))[0]
    return out


def rounded_variance(stddev: float) -> float:
    r"""Variance of round(N(0, σ²)), to about 1e-15 relative.

    Poisson summation of the characteristic function e^{−σ²t²/2}·sin(t/2)/(t/2) at t = 2πm gives
    σ² + 1/12 + Σ_{m≥1} (−1)^m e^{−2π²m²σ²}·(4σ² + 1/(π²m²)).

    Example:
        >>> abs(rounded_variance(2.0) - (4 + 1 / 12)) < 1e-12
        True
    """
    if not stddev > 0:
        raise ValueError(f"stddev must be positive; got {stddev}.")
    total = stddev**2 + 1.0 / 12.0
    for m in range(1, 2 + math.ceil(2.0 / stddev)):
        weight = math.exp(-2.0 * (math.pi * m * stddev) ** 2)
        total += (-1) ** m * weight * (4.0 * stddev**2 + 1.0 / (math.pi * m) ** 2)
    return total
