r"""The default noise: a real Gaussian, rounded to the nearest integer, exactly.

Every draw is round(N(0, σ²)), without approximation: the float64 value decides wherever it is further from
a half-integer than its proven error, and interval arithmetic decides elsewhere (`box_muller`). Total
variation from the stated law is 0, granted uniform bits and `assumption`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.mechanisms.bits import FIRST_EXTRA_BITS
from discreet.mechanisms.box_muller import GaussianPairs, error_bound, gaussian_pairs
from discreet.mechanisms.exponentials import Indices
from discreet.mechanisms.intervals import Interval
from discreet.mechanisms.scratch import Scratch
from discreet.randomness import RandomSource


@dataclass(frozen=True, slots=True, repr=False)
class RoundedBatch:
    """Gaussian reals split at the nearest integer; scratch memory, used up before the next batch is drawn.

    Attributes:
        pairs: the reals.
        nearest: shape ``(count,)``, the nearest integers as float64; right except at ``undecided``.
        offsets: shape ``(count,)``, real − nearest, off by less than the pairs' error bound.
        undecided: indices at which the nearest integer is not known yet; see `exact_nearest`.
    """

    pairs: GaussianPairs
    nearest: Floats
    offsets: Floats
    undecided: Indices


def rounded_batch(stddev: float, count: int, randomness: RandomSource, scratch: Scratch) -> RoundedBatch:
    """Draws ``count`` Gaussian reals and splits each at its nearest integer where that is certain."""
    return _split(gaussian_pairs(stddev, (count + 1) // 2, randomness, scratch), count, scratch)


def _split(pairs: GaussianPairs, count: int, scratch: Scratch) -> RoundedBatch:
    """Splits the first ``count`` reals at their nearest integers."""
    offsets = pairs.values[:count]
    nearest = np.rint(offsets, out=scratch.floats("nearest", count))
    offsets -= nearest
    undecided = _undecided(pairs, offsets, 0.5 - error_bound(pairs.stddev))
    if len(undecided):
        undecided = _decide_extended(pairs, undecided, nearest, offsets)
    return RoundedBatch(pairs, nearest, offsets, undecided)


def _undecided(pairs: GaussianPairs, offsets: Floats, most: float) -> Indices:
    """Indices of the values that are void, or whose offset is larger than ``most`` in magnitude; in order."""
    if not len(pairs.void_pairs) and len(offsets) and offsets.max() <= most and offsets.min() >= -most:
        return np.empty(0, dtype=np.intp)
    close = np.abs(offsets) > most
    half = len(pairs.values) // 2
    close[pairs.void_pairs] = True
    close[half:][pairs.void_pairs[pairs.void_pairs + half < len(offsets)]] = True
    return np.flatnonzero(close)


def _decide_extended(pairs: GaussianPairs, indices: Indices, nearest: Floats, offsets: Floats) -> Indices:
    """Settles what extended precision can, in place; returns the rest."""
    values, errors = pairs.extended(indices)
    integers = np.rint(values)
    sharper = values - integers
    # Rounding an offset to float64 costs less than 2^-54.
    settled = (np.abs(sharper) < 0.5 - errors) & (errors + 2.0**-54 <= error_bound(pairs.stddev))
    nearest[indices[settled]] = integers[settled]
    offsets[indices[settled]] = sharper[settled]
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


def draw_rounded_gaussian(stddev: float, out: Integers, randomness: RandomSource, scratch: Scratch) -> None:
    """Fills ``out`` with independent round(N(0, ``stddev``²)), exactly."""
    _write(rounded_batch(stddev, len(out), randomness, scratch), out)


def round_with_gaussian(stddev: float, out: Integers, randomness: RandomSource, scratch: Scratch) -> None:
    """Overwrites x, float64 in ``out``'s memory, by round(x + N(0, ``stddev``²)), exactly; |x| < 2^52."""
    values = out.view(np.float64)
    centres = np.rint(values, out=scratch.floats("centres", len(out)))
    shifts = np.subtract(values, centres, out=scratch.floats("shifts", len(out)))
    pairs = gaussian_pairs(stddev, (len(out) + 1) // 2, randomness, scratch)
    _write(_split(pairs.shifted(shifts), len(out), scratch), out)
    # Both are integers below 2^53.
    np.add(out, centres, out=out, casting="unsafe")


def _write(batch: RoundedBatch, out: Integers) -> None:
    """Writes the nearest integers, deciding what is still open."""
    np.copyto(out, batch.nearest, casting="unsafe")
    for index in batch.undecided:
        out[index] = exact_nearest(batch.pairs, int(index))[0]


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
