"""Intervals of 95 % around what was measured on n records, none of which is empty when all answers agree.

They speak of sampling alone: of other records drawn as these were. None of them is private.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import scipy

from discreet.arrays import Floats

_Z = 1.959963984540054  # the 97.5 % quantile of the normal distribution
_TINY = 1e-9
UNKNOWN = "–"
"""In place of a number that is not known."""


class Interval(NamedTuple):
    """A measured value and the ends of its interval; ``low <= value <= high``."""

    value: float
    low: float
    high: float


def percents(found: Interval | None) -> str:
    """Writes a share and its interval for people; a dash for none.

    Example:
        >>> percents(proportion(8, 12))
        '66.7 % (39 to 86)'
    """
    if found is None:
        return UNKNOWN
    return f"{100 * found.value:.1f} % ({100 * found.low:.0f} to {100 * found.high:.0f})"


def area_text(found: Interval | None) -> str:
    """Writes a number from 0 to 1, such as an area under a curve, and its interval; a dash for none."""
    return UNKNOWN if found is None else f"{found.value:.3f} ({found.low:.2f} to {found.high:.2f})"


def off_by(found: Interval | None) -> str:
    """Writes a number in the label's unit and its interval for people; a dash for none.

    Example:
        >>> off_by(Interval(3.14159, 2.9, 3.4))
        '3.142 (2.9 to 3.4)'
    """
    return UNKNOWN if found is None else f"{found.value:.4g} ({found.low:.3g} to {found.high:.3g})"


def proportion(successes: float, trials: float) -> Interval:
    """Returns Wilson's score interval of a proportion (Wilson 1927); at least one trial.

    Example:
        >>> found = proportion(8, 12)
        >>> f"{found.low:.3f} {found.high:.3f}"
        '0.391 0.862'
    """
    share, square = successes / trials, _Z * _Z
    middle = (share + square / (2 * trials)) / (1 + square / trials)
    half = _Z * math.sqrt(share * (1 - share) / trials + square / (4 * trials**2)) / (1 + square / trials)
    return Interval(share, min(share, max(0.0, middle - half)), max(share, min(1.0, middle + half)))


def wilson(successes: float, trials: float) -> Interval | None:
    """Returns the interval of a proportion; None without trials."""
    return proportion(successes, trials) if trials > 0 else None


def mean_of(parts: Sequence[Interval]) -> Interval:
    """Returns the mean of independent quantities; their intervals are combined as by Zou and Donner (2008).

    A balanced accuracy is the mean of recalls, which are over different records.
    """
    count = len(parts)
    value = math.fsum(part.value for part in parts) / count
    below = math.hypot(*(part.value - part.low for part in parts)) / count
    above = math.hypot(*(part.high - part.value for part in parts)) / count
    return Interval(value, max(0.0, value - below), min(1.0, value + above))


def harmonic(true_positives: float, wrong: float) -> Interval | None:
    """Returns F1 = 2 TP / (2 TP + wrong), where ``wrong`` counts false positives and false negatives.

    F1 grows with TP / (TP + wrong), a proportion: Wilson's ends of that one are mapped.
    """
    share = wilson(true_positives, true_positives + wrong)
    return None if share is None else Interval(*(2 * end / (1 + end) for end in share))


def bounded_mean(losses: Floats, worth: float = 1.0) -> Interval:
    """Returns the mean of losses in [0, 1] and its normal interval; [0, 1] for a single record.

    Args:
        losses: one a record.
        worth: how many independent records one is worth, at most 1.
    """
    value = float(losses.mean())
    if len(losses) < 2:
        return Interval(value, 0.0, 1.0)
    half = _Z * float(losses.std(ddof=1)) / math.sqrt(worth * len(losses))
    return Interval(value, max(0.0, value - half), min(1.0, value + half))


def area_interval(area: float, positives: float, negatives: float) -> Interval:
    """Returns Newcombe's interval of an area under the ROC curve (2006, part 2, method 5).

    Its ends are the areas from which the measured one lies 1.96 standard errors away, by the formula of
    Hanley and McNeil at that very area; so an area of 1 has an interval as well.
    """
    extra = (positives + negatives) / 2 - 1

    def distance(other: float) -> float:
        spread = other * (1 - other) * (1 + extra * ((1 - other) / (2 - other) + other / (1 + other)))
        return (area - other) ** 2 - _Z**2 * spread / (positives * negatives)

    # At 0 and 1 the spread vanishes: there the area is a root by itself, and the other one is wanted.
    inside = min(max(area, _TINY), 1 - _TINY)
    low = 0.0 if area <= 0 else _root(distance, 0.0, inside)
    high = 1.0 if area >= 1 else _root(distance, inside, 1.0)
    return Interval(area, min(low, area), max(high, area))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    return float(scipy.optimize.brentq(function, low, high, xtol=1e-12))
