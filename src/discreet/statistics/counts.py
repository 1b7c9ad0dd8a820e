"""How many units there are."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.arrays import Floats
from discreet.quality.intervals import Interval
from discreet.statistics.inversion import normal_quantile
from discreet.statistics.rows import Row, interval_row


@dataclass(frozen=True, slots=True)
class Count:
    """The number of units in these records; its interval is of the noise only."""

    number: Interval

    def rows(self) -> tuple[Row, ...]:
        """Returns one row, ``count``."""
        return (interval_row("count", self.number),)


def count(sums: Floats, variance: float, *, level: float = 0.95) -> Count:
    """Returns the number of units from a block of one coordinate, shape ``(1,)``.

    Example:
        >>> import numpy as np
        >>> [round(end, 1) for end in count(np.array([1000.0]), 100.0).number]
        [1000.0, 980.4, 1019.6]
    """
    return Count(noisy_count(float(sums[0]), variance, level))


def noisy_count(measured: float, variance: float, level: float) -> Interval:
    """Returns a number that is at least 0 from its noisy measurement.

    A measurement below zero is read as zero: its interval then covers whatever that of the measurement did.
    """
    value = max(0.0, measured)
    half = normal_quantile(level) * math.sqrt(variance)
    return Interval(value, max(0.0, value - half), value + half)
