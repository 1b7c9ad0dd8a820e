"""The ROC curve of a binary model, and the area under it, from noisy counts of its scores by label.

A threshold is an edge between bins of scores: from it on a unit is called positive. Positive and negative
units are in different cells, so that a threshold's two rates are independent, noise included: two intervals
of level √l make a rectangle of level l around the threshold's point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.arrays import Floats
from discreet.quality.intervals import Interval
from discreet.statistics.inversion import around, normal_quantile, within
from discreet.statistics.shares import Shares

# The last bits of an interpolation depend on the side that it comes from.
_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Rates:
    """What a threshold finds, and what it takes for positive by mistake, in the population.

    Attributes:
        threshold: the probability from which on a unit is called positive.
        found: the true-positive rate.
        mistaken: the false-positive rate.
    """

    threshold: float
    found: Interval
    mistaken: Interval


class Point(NamedTuple):
    """A point of the curve: false-positive rate, true-positive rate, and the ends of the band there."""

    x: float
    y: float
    low: float
    high: float


def rates(
    sums: Floats, variance: float, edges: Sequence[float], *, level: float = 0.95
) -> tuple[Rates, ...] | None:
    """Returns the rates of each threshold between the first edge and the last; None where noise hides them.

    Args:
        sums: noisy counts, ``bins * 2``: bin of the predicted probability, then negative and positive.
        variance: of the noise of each.
        edges: of the bins, from 0 to 1.
        level: of each interval.
    """
    counts = np.asarray(sums, dtype=np.float64).reshape(-1, 2)
    share = Shares(counts, variance, normal_quantile(level)).of
    positive = np.zeros_like(counts, dtype=np.bool_)
    positive[:, 1] = True
    found = []
    for place, edge in enumerate(edges[1:-1], start=1):
        called = np.zeros_like(positive)
        called[place:] = True
        true, false = share(called & positive, positive), share(called & ~positive, ~positive)
        if true is None or false is None:
            return None
        found.append(Rates(edge, true, false))
    return tuple(found)


def curve(
    sums: Floats, variance: float, edges: Sequence[float], *, level: float = 0.95
) -> tuple[Point, ...] | None:
    """Returns the ROC curve with a band that holds each threshold's true point at ``level``.

    Straight lines join the points of thresholds, as calling positive by lot in between does. The band joins
    the corners of their rectangles: wherever these hold the true points, the true curve is inside. Rates
    never grow with the threshold, and noise may say that they do: estimates are averaged until they do not,
    and rectangles widened until their ends do not, so that none holds less.

    Args:
        sums: as in `rates`.
        variance: as in `rates`.
        edges: as in `rates`.
        level: of a rectangle, and so of the band at each threshold.
    """
    known = rates(sums, variance, edges, level=math.sqrt(level))
    if known is None:
        return None
    x, x_low, x_high = _falling([one.mistaken for one in known])
    y, y_low, y_high = _falling([one.found for one in known])
    middle, upper, lower = (_joined(*ends) for ends in ((x, y), (x_low, y_high), (x_high, y_low)))
    places = np.unique(np.concatenate([line[0] for line in (middle, upper, lower)]))
    points: list[Point] = []
    for at in places.tolist():
        # Where a line is upright, its lower and its upper end.
        for end in (_before, _behind):
            point = Point(at, end(at, middle), end(at, lower), end(at, upper))
            if not points or point != points[-1]:
                points.append(point)
    return tuple(points)


def _falling(found: Sequence[Interval]) -> tuple[Floats, Floats, Floats]:
    """Returns values, lows and highs of rates, none of which grows with the threshold."""
    value, low, high = (np.array(ends) for ends in zip(*found, strict=True)) if found else (np.zeros(0),) * 3
    later = np.maximum.accumulate(value[::-1])[::-1]
    return (
        (later + np.minimum.accumulate(value)) / 2,
        np.minimum.accumulate(low),
        np.maximum.accumulate(high[::-1])[::-1],
    )


def _joined(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Returns a line from (0, 0), where nobody is called positive, to (1, 1)."""
    return np.concatenate([[0.0], x[::-1], [1.0]]), np.concatenate([[0.0], y[::-1], [1.0]])


def _before(at: float, line: tuple[Floats, Floats]) -> float:
    """Returns the height of a line at ``at``, where it comes from the left."""
    return round(-float(np.interp(-at, -line[0][::-1], -line[1][::-1])), _DIGITS)


def _behind(at: float, line: tuple[Floats, Floats]) -> float:
    """Returns the height of a line at ``at``, where it goes on to the right."""
    return round(float(np.interp(at, *line)), _DIGITS)


def area(counts: Floats, variance: float, reach: float) -> Interval | None:
    """Returns the area under the ROC curve; noise and sampling to first order. None where noise hides it.

    With F the share of the negative below a bin, half of its own included, A = Σ pos_j F_j / n₊. A positive
    unit more in bin j moves A by (F_j − A)/n₊, a negative one in bin i by (G_i − A)/n₋, where G is the share
    of the positive above. The sampling variance is that of F over the positive and of G over the negative
    (DeLong, DeLong and Clarke-Pearson 1988).

    Args:
        counts: noisy, shape ``(bins, 2)``.
        variance: of the noise of each.
        reach: of the interval, in standard errors.
    """
    negative, positive = counts[:, 0], counts[:, 1]
    below, above = float(negative.sum()), float(positive.sum())
    least = max(1.0, 2 * math.sqrt(variance * len(counts)))
    if min(below, above) <= least:
        return None
    under = (np.cumsum(negative) - negative / 2) / below
    over = (np.cumsum(positive[::-1])[::-1] - positive / 2) / above
    found = float(positive @ under / above)
    noise = variance * float((((under - found) / above) ** 2).sum() + (((over - found) / below) ** 2).sum())
    sampling = _spread(under, positive) / above + _spread(over, negative) / below
    half = reach * math.sqrt(noise + sampling)
    return within(around(found, found - half, found + half), 0.0, 1.0)


def _spread(values: Floats, counts: Floats) -> float:
    weights = np.maximum(counts, 0.0)
    if not weights.sum() > 0:
        return 0.0
    middle = np.average(values, weights=weights)
    return float(np.average((values - middle) ** 2, weights=weights))
