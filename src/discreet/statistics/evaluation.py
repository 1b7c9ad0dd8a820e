"""How good a binary model is, from noisy counts of its scores by label."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Booleans, Floats
from discreet.quality.intervals import Interval
from discreet.statistics.counts import noisy_count
from discreet.statistics.inversion import around, normal_quantile, not_rejected, within
from discreet.statistics.rows import Row, interval_row

COMMONER = "share of the commoner class"
COMMONEST = "share of the commonest class"
_HALF = 0.5


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Measures of a model on a population, of which these records were drawn; None where the noise hides one.

    Attributes:
        units: held-out units in these records; noise only.
        accuracy: of calling a unit positive from one half on.
        base_rate: share of the commoner class.
        sensitivity: share of the positive that are called so.
        specificity: share of the negative that are called so.
        precision: share of those called positive that are.
        auc: probability that a positive unit scores above a negative one; units of one bin count one half.
        observed: share of positive units in each bin of scores.
    """

    units: Interval
    accuracy: Interval | None
    base_rate: Interval | None
    sensitivity: Interval | None
    specificity: Interval | None
    precision: Interval | None
    auc: Interval | None
    observed: tuple[Interval | None, ...]

    def rows(self, edges: Sequence[float]) -> tuple[Row, ...]:
        """Returns all measures, then the observed share in each bin between ``edges``."""
        measures = (
            ("units", self.units),
            ("accuracy", self.accuracy),
            (COMMONER, self.base_rate),
            ("sensitivity", self.sensitivity),
            ("specificity", self.specificity),
            ("precision", self.precision),
            ("AUC", self.auc),
        )
        bins = zip(edges, edges[1:], self.observed, strict=False)
        return (
            *(interval_row(name, found) for name, found in measures),
            *(
                interval_row(f"observed where {low:g} to {high:g} is predicted", one)
                for low, high, one in bins
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
    shares = _Shares(counts, variance, normal_quantile(level))
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


@dataclass(frozen=True, slots=True, eq=False)
class _Shares:
    """Shares that some cells of a table are of others."""

    counts: Floats
    variance: float
    reach: float

    def of(self, part: Booleans, whole: Booleans) -> Interval | None:
        """Returns which share of the cells ``whole`` the cells ``part`` are; masks of the counts' shape."""
        top, bottom = float(self.counts[part].sum()), float(self.counts[whole].sum())
        inside, outside = int(part.sum()), int((whole & ~part).sum())
        # If p is true, part - p * whole has this variance, as for a cell of a table.
        noise = self.variance
        curvature = (noise * (inside + outside) - bottom, bottom - 2 * noise * inside, noise * inside)
        top = min(max(0.0, top), max(0.0, bottom))
        found = not_rejected(top, bottom, self.reach, curvature=curvature)
        return None if found is None else within(found, 0.0, 1.0)


def evaluation(sums: Floats, variance: float, edges: Sequence[float], *, level: float = 0.95) -> Evaluation:
    """Returns what a histogram of scores by label says of a model.

    Args:
        sums: noisy counts, ``bins * 2``: bin of the predicted probability, then negative and positive.
        variance: of the noise of each.
        edges: of the bins, from 0 to 1; where none is one half, the next one above decides who is positive.
        level: of the intervals.
    """
    counts = np.asarray(sums, dtype=np.float64).reshape(-1, 2)
    reach = normal_quantile(level)
    called = np.asarray(edges[:-1]) >= _HALF

    share = _Shares(counts, variance, reach).of
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
        auc=_auc(counts, variance, reach),
        observed=tuple(share(positive & row, row) for row in _rows(len(counts))),
    )


def _rows(bins: int) -> list[Booleans]:
    masks: Booleans = np.zeros((bins, bins, 2), dtype=np.bool_)
    for place in range(bins):
        masks[place, place] = True
    return list(masks)


def _auc(counts: Floats, variance: float, reach: float) -> Interval | None:
    """Returns the area under the ROC curve; noise and sampling to first order.

    With F the share of the negative below a bin, half of its own included, A = Σ pos_j F_j / n₊. A positive
    unit more in bin j moves A by (F_j − A)/n₊, a negative one in bin i by (G_i − A)/n₋, where G is the share
    of the positive above. The sampling variance is that of F over the positive and of G over the negative
    (DeLong, DeLong and Clarke-Pearson 1988).
    """
    negative, positive = counts[:, 0], counts[:, 1]
    below, above = float(negative.sum()), float(positive.sum())
    least = max(1.0, 2 * math.sqrt(variance * len(counts)))
    if min(below, above) <= least:
        return None
    under = (np.cumsum(negative) - negative / 2) / below
    over = (np.cumsum(positive[::-1])[::-1] - positive / 2) / above
    area = float(positive @ under / above)
    noise = variance * float((((under - area) / above) ** 2).sum() + (((over - area) / below) ** 2).sum())
    sampling = _spread(under, positive) / above + _spread(over, negative) / below
    half = reach * math.sqrt(noise + sampling)
    return within(around(area, area - half, area + half), 0.0, 1.0)


def _spread(values: Floats, counts: Floats) -> float:
    weights = np.maximum(counts, 0.0)
    if not weights.sum() > 0:
        return 0.0
    middle = np.average(values, weights=weights)
    return float(np.average((values - middle) ** 2, weights=weights))
