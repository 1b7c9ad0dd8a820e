"""Intervals as the values that a test does not reject."""

from __future__ import annotations

import math

import scipy

from discreet.quality.intervals import Interval


def normal_quantile(level: float) -> float:
    """Returns how many standard errors an interval of ``level`` reaches to each side; 1.96 for 0.95.

    Raises:
        ValueError: ``level`` is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1; got {level}.")
    return float(scipy.special.ndtri((1 + level) / 2))


def not_rejected(
    top: float, bottom: float, reach: float, *, curvature: tuple[float, float, float]
) -> Interval | None:
    """Returns the ratios c with (top − c·bottom)² ≤ reach²·variance(c), as Fieller (1954) did for quotients.

    ``curvature`` holds a2, a1, a0 of variance(c) = a2 c² + a1 c + a0, the variance of top − c·bottom if c is
    the true ratio. None if the set is unbounded: then the bottom cannot be told from zero.
    """
    a2, a1, a0 = curvature
    square = reach * reach
    leading = bottom * bottom - square * a2
    if not (bottom > 0 and leading > 0):
        return None
    middle = (top * bottom + square * a1 / 2) / leading
    root = math.sqrt(max(0.0, middle * middle - (top * top - square * a0) / leading))
    return around(top / bottom, middle - root, middle + root)


def around(value: float, low: float, high: float) -> Interval:
    """Returns the interval, widened where it misses its own value."""
    return Interval(value, min(value, low), max(value, high))


def within(found: Interval, least: float, most: float) -> Interval:
    """Returns the interval inside the range that the quantity is known to lie in."""
    return Interval(*(min(max(number, least), most) for number in found))
