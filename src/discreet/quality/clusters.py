"""How much less records say where several are one person's: the design effect of a statistic.

Records of one person go together, so that n of them say as much as n divided by this factor would by
themselves; proportions get Wilson's interval of so many (Korn and Graubard 1998).
"""

from __future__ import annotations

import math

import numpy as np
import scipy

from discreet.arrays import Floats, Integers
from discreet.quality.intervals import Interval

# Influences of rounding size are none.
_NONE = 1e-24


def design_effect(influences: Floats, persons: Integers | None) -> float:
    """Returns the cluster-robust variance of a statistic over that of independent records; at least 1.

    Args:
        influences: how far each record moves the statistic, up to a common factor, with mean 0, of shape
            ``(n,)``.
        persons: whose each record is, shape ``(n,)``; None where every record stands for itself.

    Returns:
        The ratio of Σ (a person's sum)² m/(m - 1), over m persons, to Σ influence² (Liang and Zeger 1986;
        the jackknife's factor). Where no record has any influence, as if all answers agree, n over Kish's
        effective number, Σ k² / n for persons of k records: a person then counts as one record.

    Example:
        >>> twice = np.repeat(np.arange(50), 2)
        >>> round(design_effect(np.repeat(np.tile([0.5, -0.5], 25), 2), twice), 2)
        2.04
        >>> design_effect(np.zeros(100), twice), design_effect(np.zeros(100), None)
        (2.0, 1.0)
    """
    if persons is None or not len(influences):
        return 1.0
    _, whose = np.unique(persons, return_inverse=True)
    sizes, sums = np.bincount(whose), np.bincount(whose, influences)
    alone, count = float(np.square(influences).sum()), len(sizes)
    if count < 2 or alone <= _NONE:
        return float(np.square(sizes).sum() / len(whose))
    return max(1.0, count / (count - 1) * float(np.square(sums).sum()) / alone)


def widened(found: Interval, effect: float, *, most: float = 1.0) -> Interval:
    """Returns an interval in [0, ``most``] whose half-widths are as large as a design effect makes them."""
    factor = math.sqrt(effect)
    below, above = found.value - found.low, found.high - found.value
    return Interval(
        found.value, max(0.0, found.value - factor * below), min(most, found.value + factor * above)
    )


def paired_p_value(differences: Integers, persons: Integers) -> float:
    """Returns the probability of so large a sum of differences by persons if neither side were better.

    McNemar's test for clustered pairs (Obuchowski 1998): the sum over the root of Σ (a person's sum)², as
    normal.
    """
    _, whose = np.unique(persons, return_inverse=True)
    sums = np.bincount(whose, differences)
    spread = math.sqrt(float(np.square(sums).sum()))
    return 1.0 if spread == 0.0 else float(2.0 * scipy.stats.norm.sf(abs(sums.sum()) / spread))
