"""How well scores order records: the areas under two curves, and the curves thinned for a drawing."""

from __future__ import annotations

import numpy as np
import scipy

from discreet.arrays import Booleans, Floats, Integers
from discreet.quality.clusters import design_effect
from discreet.quality.intervals import Interval, area_interval, wilson

Curve = tuple[tuple[float, float], ...]

_MOST_POINTS = 60


def area_under_roc(scores: Floats, labels: Integers) -> float | None:
    """Probability that a random positive scores above a random negative, ties counting one half.

    The Mann-Whitney statistic on mid-ranks (Hanley and McNeil 1982). None when a class is absent.

    Example:
        >>> area_under_roc(np.array([0.1, 0.4, 0.4, 0.9]), np.array([0, 0, 1, 1]))
        0.875
    """
    positives = labels == 1
    num_positive, num_negative = int(positives.sum()), int((~positives).sum())
    if num_positive == 0 or num_negative == 0:
        return None
    rank_sum = float(scipy.stats.rankdata(scores)[positives].sum())
    return (rank_sum - num_positive * (num_positive + 1) / 2.0) / (num_positive * num_negative)


def roc_area(scores: Floats, positive: Booleans, persons: Integers | None = None) -> Interval | None:
    """Returns the area under the ROC curve with its interval; None when a class is absent.

    Where ``persons`` says whose each record is, positives and negatives count as many as their design effect
    leaves (Obuchowski 1997, on the placements of DeLong, DeLong and Clarke-Pearson 1988).
    """
    area = area_under_roc(scores, positive.astype(np.int64))
    if area is None:
        return None
    found = int(positive.sum())
    effect = design_effect(_placements(scores, positive, area), persons)
    return area_interval(area, found / effect, (len(positive) - found) / effect)


def _placements(scores: Floats, positive: Booleans, area: float) -> Floats:
    """Returns how far each record moves the area: its share of pairs in the right order, less the area."""
    ranks, influences = scipy.stats.rankdata(scores), np.zeros(len(scores))
    for own in (positive, ~positive):
        others = len(scores) - int(own.sum())
        below = (ranks[own] - scipy.stats.rankdata(scores[own])) / others
        influences[own] = ((below if own is positive else 1.0 - below) - area) / own.sum()
    return influences


def average_precision(scores: Floats, positive: Booleans, persons: Integers | None = None) -> Interval | None:
    """Returns the area under the precision-recall curve, as a sum over thresholds; None without positives.

    The interval is that of a proportion of as many trials as there are positives (Boyd, Eng and Page 2013),
    in Wilson's form; of as many as there are persons among them, by Kish's effective number, where
    ``persons`` says whose each record is. A model that knows nothing has the share of positives.

    Example:
        >>> found = average_precision(np.array([0.9, 0.8, 0.1]), np.array([True, False, True]))
        >>> round(found.value, 4)
        0.8333
    """
    number = int(positive.sum())
    if number == 0:
        return None
    hits, alarms = _counts(scores, positive)
    gained = np.diff(hits, prepend=0)
    area = float((gained * (hits / (hits + alarms))).sum() / number)
    effect = design_effect(np.zeros(number), None if persons is None else persons[positive])
    return wilson(area * number / effect, number / effect)


def roc_curve(scores: Floats, positive: Booleans) -> Curve:
    """Returns (false-positive rate, true-positive rate) from (0, 0) to (1, 1); both classes must occur."""
    hits, alarms = _counts(scores, positive)
    return ((0.0, 0.0), *_thinned(alarms / alarms[-1], hits / hits[-1]))


def precision_recall_curve(scores: Floats, positive: Booleans) -> Curve:
    """Returns (recall, precision), from the highest threshold that finds a positive to recall 1."""
    hits, alarms = _counts(scores, positive)
    some = hits > 0
    return _thinned((hits / hits[-1])[some], (hits / np.maximum(hits + alarms, 1))[some])


def _counts(scores: Floats, positive: Booleans) -> tuple[Integers, Integers]:
    """Returns true and false positives at each distinct threshold, from the highest down."""
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    last = np.append(np.flatnonzero(np.diff(ordered)), len(ordered) - 1)
    hits = np.cumsum(positive[order])[last].astype(np.int64)
    return hits, (last + 1 - hits).astype(np.int64)


def _thinned(x: Floats, y: Floats) -> Curve:
    """Returns at most `_MOST_POINTS` points of a curve, its ends among them."""
    places = np.unique(np.linspace(0, len(x) - 1, min(len(x), _MOST_POINTS)).round().astype(np.int64))
    return tuple((float(x[place]), float(y[place])) for place in places)
