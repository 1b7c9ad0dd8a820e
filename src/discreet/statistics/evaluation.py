"""How good a binary model is, from noisy counts of its scores by label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Booleans, Floats, Integers
from discreet.quality.intervals import Interval
from discreet.statistics.counts import noisy_count
from discreet.statistics.inversion import normal_quantile
from discreet.statistics.roc import Rates, area, rates
from discreet.statistics.rows import Row, interval_row
from discreet.statistics.shares import Shares

COMMONER = "share of the commoner class"
COMMONEST = "share of the commonest class"
HALF = 0.5
"""The threshold where none is stated."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Measures of a model on a population, of which these records were drawn; None where the noise hides one.

    Attributes:
        units: held-out units in these records; noise only.
        accuracy: of calling a unit positive from the threshold on.
        base_rate: share of the commoner class.
        sensitivity: share of the positive that are called so.
        specificity: share of the negative that are called so.
        precision: share of those called positive that are.
        auc: probability that a positive unit scores above a negative one; units of one bin count one half.
        observed: share of positive units in each bin of scores.
        threshold: from which score on a unit is called positive.
        rates: true- and false-positive rate of every threshold that is an edge; None where noise hides them.
    """

    units: Interval
    accuracy: Interval | None
    base_rate: Interval | None
    sensitivity: Interval | None
    specificity: Interval | None
    precision: Interval | None
    auc: Interval | None
    observed: tuple[Interval | None, ...]
    rates: tuple[Rates, ...] | None
    threshold: float = HALF

    def rows(self, edges: Sequence[float]) -> tuple[Row, ...]:
        """Returns all measures, the observed share in each bin, and each threshold's rates."""
        measures = (
            ("units", self.units),
            (called_at("accuracy", self.threshold), self.accuracy),
            (COMMONER, self.base_rate),
            (called_at("sensitivity", self.threshold), self.sensitivity),
            (called_at("specificity", self.threshold), self.specificity),
            (called_at("precision", self.threshold), self.precision),
            ("AUC", self.auc),
        )
        bins = zip(edges, edges[1:], self.observed, strict=False)
        return (
            *(interval_row(name, found) for name, found in measures),
            *(
                interval_row(f"observed where {low:g} to {high:g} is predicted", one)
                for low, high, one in bins
            ),
            *(
                interval_row(f"{name}-positive rate from {one.threshold:g} on", found)
                for one in self.rates or ()
                for name, found in (("true", one.found), ("false", one.mistaken))
            ),
        )


def classification(
    sums: Floats, variance: float, classes: Sequence[str], *, level: float = 0.95
) -> tuple[Row, ...]:
    """Returns what counts of predicted by true classes say, as rows: accuracy, and the recall of each class.

    Beside the accuracy stands that of always naming the class that seems to be the commonest.

    Args:
        sums: noisy counts, ``classes * classes``: predicted, then true.
        variance: of the noise of each.
        classes: their texts.
        level: of the intervals.
    """
    counts = np.asarray(sums, dtype=np.float64).reshape(len(classes), -1)
    shares = Shares(counts, variance, normal_quantile(level))
    right, every = np.eye(len(classes), dtype=np.bool_), np.ones_like(counts, dtype=np.bool_)
    rows = [
        interval_row("units", noisy_count(float(counts.sum()), counts.size * variance, level)),
        interval_row("accuracy", shares.of(right, every)),
    ]
    commonest = np.zeros_like(every)
    commonest[:, int(counts.sum(axis=0).argmax())] = True
    rows.append(interval_row(COMMONEST, shares.of(commonest, every)))
    for place, text in enumerate(classes):
        own = np.zeros_like(every)
        own[:, place] = True
        rows.append(interval_row(f"recall of {text}", shares.of(right & own, own)))
    return tuple(rows)


def evaluation(
    sums: Floats, variance: float, edges: Sequence[float], *, threshold: float = HALF, level: float = 0.95
) -> Evaluation:
    """Returns what a histogram of scores by label says of a model.

    Args:
        sums: noisy counts, ``bins * 2``: bin of the predicted probability, then negative and positive.
        variance: of the noise of each.
        edges: of the bins, from 0 to 1.
        threshold: from where on a unit is called positive; where no edge is there, from the next one above.
        level: of the intervals.
    """
    counts = np.asarray(sums, dtype=np.float64).reshape(-1, 2)
    reach = normal_quantile(level)
    called = from_edge(edges, threshold)

    share = Shares(counts, variance, reach).of
    every, positive = np.ones_like(counts, dtype=np.bool_), np.zeros_like(counts, dtype=np.bool_)
    positive[:, 1] = True
    named = np.repeat(called[:, None], 2, axis=1)
    common = positive if counts[:, 1].sum() >= counts[:, 0].sum() else ~positive
    return Evaluation(
        units=noisy_count(float(counts.sum()), counts.size * variance, level),
        accuracy=share(named == positive, every),
        base_rate=share(common, every),
        sensitivity=share(named & positive, positive),
        specificity=share(~named & ~positive, ~positive),
        precision=share(named & positive, named),
        auc=area(counts, variance, reach),
        observed=tuple(share(positive & row, row) for row in _rows(len(counts))),
        rates=rates(sums, variance, edges, level=level),
        threshold=threshold,
    )


def called_at(measure: str, threshold: float) -> str:
    """Names a measure, with the threshold that it is of where that is not one half."""
    return measure if is_half(threshold) else f"{measure} at {threshold:g}"


def is_half(threshold: float) -> bool:
    """Says whether a threshold is one half, up to the rounding of an edge of equal bins."""
    return abs(threshold - HALF) < 1e-9


def balanced_accuracy(
    sums: Floats, variance: float, called: Integers, *, level: float = 0.95
) -> Interval | None:
    """Returns the mean of the recalls of all classes; None where noise hides one of them.

    Guarantee:
        Recalls are of different units with noise of their own, so that they are independent: of K classes,
        each of level ``root_level(level, K)``, all hold at once with ``level``, and then so does their mean.

    Args:
        sums: noisy counts, ``bins * classes``: bin of the score, then the true class.
        variance: of the noise of each, as it is for intervals of ``root_level(level, classes)``.
        called: the class that units of each bin are called.
        level: of the interval.
    """
    counts = np.asarray(sums, dtype=np.float64).reshape(len(called), -1)
    classes = counts.shape[1]
    share = Shares(counts, variance, normal_quantile(root_level(level, classes))).of
    recalls = []
    for place in range(classes):
        own = np.zeros_like(counts, dtype=np.bool_)
        own[:, place] = True
        recalls.append(share(own & (called == place)[:, None], own))
    known = [one for one in recalls if one is not None]
    if len(known) < classes:
        return None
    return Interval(*(sum(ends) / classes for ends in zip(*known, strict=True)))


def root_level(level: float, independent: int) -> float:
    """Returns the level at which so many independent intervals all hold at once with ``level``."""
    return float(level ** (1.0 / independent))


def from_edge(edges: Sequence[float], threshold: float) -> Booleans:
    """Says of each bin of scores whether its units are called positive."""
    return np.asarray(edges[:-1]) >= threshold


def confusion(counts: Floats, variance: Floats, *, level: float = 0.95) -> tuple[tuple[Interval, ...], ...]:
    """Returns how many of each class were called what, with sums last; about these records, noise only.

    Args:
        counts: noisy, shape ``(classes, classes)``: the true class, then what it was called.
        variance: of the noise of each, which a sum of several cells has more of.
        level: of the intervals.
    """
    return tuple(
        tuple(noisy_count(float(one), float(spread), level) for one, spread in zip(*row, strict=True))
        for row in zip(_with_sums(counts), _with_sums(variance), strict=True)
    )


def _with_sums(cells: Floats) -> Floats:
    wide = np.hstack([cells, cells.sum(axis=1, keepdims=True)])
    return np.vstack([wide, wide.sum(axis=0, keepdims=True)])


def _rows(bins: int) -> list[Booleans]:
    masks: Booleans = np.zeros((bins, bins, 2), dtype=np.bool_)
    for place in range(bins):
        masks[place, place] = True
    return list(masks)
