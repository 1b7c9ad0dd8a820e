"""Where numbers lie and how far they spread, from noisy histograms over wide public ranges."""

from __future__ import annotations

import math

import numpy as np

from discreet.arrays import Floats

# Of the units of a column; what is farther out counts as if it were at the end.
_HELD = 0.95
# Of the noise of a window's count: so much less may be in it.
_SLACK = 0.5
# Of the noise of the number of units: what stands out less is noise.
_STANDS_OUT = 3.5
# Of a column that become 1: numbers are then as far apart as the texts of a balanced column (Gelman 2008).
_DEVIATIONS = 2.0


def centers_and_scales(counts: Floats, variance: float, *, floor: float) -> Floats:
    """Returns centre and scale of each column where its range is [-1, 1]: post-processing of a release.

    Of each column it takes the shortest window of neighbouring bins that holds nearly all units, whose number
    all columns say together. Centre and scale are the mean, and twice the standard deviation, of the counts
    in it. A column that only all bins are enough for keeps its public range, centre 0 and scale 1; so do all
    columns if noise hides how many units there are. So little data costs little.

    Args:
        counts: noisy, shape ``(columns, bins + 1)``: bins of equal width, then units that lack the number.
        variance: of the noise of a count.
        floor: least scale.

    Returns:
        Shape ``(2, columns)``: centres in [-1, 1], scales from ``floor`` to 1.

    Example:
        >>> narrow, even = [0.0, 90.0, 0.0, 0.0, 0.0], [30.0, 20.0, 25.0, 15.0, 0.0]
        >>> centers_and_scales(np.array([narrow, even]), 4.0, floor=0.02).round(3).tolist()
        [[-0.25, 0.0], [0.289, 1.0]]
    """
    columns, cells = counts.shape
    units = float(counts.sum()) / columns
    if not units > _STANDS_OUT * math.sqrt(variance * cells / columns):
        return np.array([np.zeros(columns), np.ones(columns)])
    found = [_of_column(own[:-1], units - own[-1], math.sqrt(variance), floor) for own in counts]
    return np.array(found).T


def _of_column(counts: Floats, units: float, noise: float, floor: float) -> tuple[float, float]:
    first, end = _window(counts, _HELD * units, _SLACK * noise)
    shares = np.maximum(counts[first:end], 0.0)
    if end - first == len(counts) or not shares.sum() > 0.0:
        return 0.0, 1.0
    width = 2.0 / len(counts)
    middles = -1.0 + width * (np.arange(first, end) + 0.5)
    shares = shares / shares.sum()
    center = float(shares @ middles)
    # Numbers are spread over a bin as well.
    spread = math.sqrt(float(shares @ (middles - center) ** 2) + width**2 / 12.0)
    return center, min(max(_DEVIATIONS * spread, floor), 1.0)


def _window(counts: Floats, wanted: float, noise: float) -> tuple[int, int]:
    """Returns first and end of the shortest neighbours that hold as many as wanted; all if none do."""
    sums = np.concatenate([[0.0], np.cumsum(counts)])
    for length in range(1, len(counts)):
        held = sums[length:] - sums[:-length]
        if held.max() >= wanted - noise * math.sqrt(length):
            first = int(held.argmax())
            return first, first + length
    return 0, len(counts)
