"""Quantiles of a number from its noisy histogram."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from discreet.arrays import Floats
from discreet.quality.intervals import Interval
from discreet.statistics.inversion import around, normal_quantile
from discreet.statistics.rows import Row, interval_row


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Quantiles of the population, in the number's own units; None where they cannot be told.

    Attributes:
        probs: which ones.
        values: as many.
    """

    probs: tuple[float, ...]
    values: tuple[Interval | None, ...]

    def rows(self) -> tuple[Row, ...]:
        """Returns one row for each quantile."""
        each = zip(self.probs, self.values, strict=True)
        return tuple(interval_row(f"quantile {prob:g}", found) for prob, found in each)


def quantiles(
    sums: Floats, variance: float, edges: Sequence[float], probs: Sequence[float], *, level: float = 0.95
) -> Quantiles:
    """Returns quantiles, the estimate with the number spread evenly inside each bin.

    The estimate is where the monotone distribution function next to the measured one reaches the probability.
    The interval reaches from the last edge at which F < p is certain to the first at which F > p is, whatever
    the number does between edges: cumulated − p·total has the variance n p(1 − p) + v((1 − p)² bins below +
    p² bins above) at an edge where F = p.

    Args:
        sums: noisy counts of the bins, length m.
        variance: of the noise of each.
        edges: of the bins, m + 1 of them, increasing.
        probs: between 0 and 1.
        level: of the intervals.
    """
    counts, places = np.asarray(sums, dtype=np.float64), np.asarray(edges, dtype=np.float64)
    cumulated = np.concatenate([[0.0], np.cumsum(counts)])
    reach = normal_quantile(level)
    if not cumulated[-1] > max(1.0, 2 * math.sqrt(variance * len(counts))):
        return Quantiles(tuple(probs), (None,) * len(probs))
    return Quantiles(
        tuple(probs), tuple(_quantile(cumulated, variance, places, prob, reach) for prob in probs)
    )


def _quantile(cumulated: Floats, variance: float, edges: Floats, prob: float, reach: float) -> Interval:
    total, bins = float(cumulated[-1]), len(cumulated) - 1
    monotone = np.clip(scipy.optimize.isotonic_regression(cumulated).x, 0.0, total)
    value = _crossing(edges, monotone, prob * total)
    below = np.arange(bins + 1)
    noise = variance * ((1 - prob) ** 2 * below + prob**2 * (bins - below))
    allowed = reach**2 * (total * prob * (1 - prob) + noise)
    kept = np.flatnonzero((cumulated - prob * total) ** 2 <= allowed)
    # Where the distribution function crosses between two edges, and how, no bin tells.
    above = int(np.clip(np.searchsorted(monotone, prob * total), 1, bins))
    first, last = (kept[0] - 1, kept[-1] + 1) if len(kept) else (above - 1, above)
    return around(value, float(edges[max(first, 0)]), float(edges[min(last, bins)]))


def _crossing(edges: Floats, cumulated: Floats, wanted: float) -> float:
    """Returns where a monotone function of the edges reaches ``wanted``."""
    above = int(np.clip(np.searchsorted(cumulated, wanted), 1, len(edges) - 1))
    rise = cumulated[above] - cumulated[above - 1]
    inside = (wanted - cumulated[above - 1]) / rise if rise > 0 else 0.0
    return float(edges[above - 1] + min(max(0.0, inside), 1.0) * (edges[above] - edges[above - 1]))
