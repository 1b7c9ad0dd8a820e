"""Shares that some cells of a noisy table are of others."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.arrays import Booleans, Floats
from discreet.quality.intervals import Interval
from discreet.statistics.inversion import not_rejected, within


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """Shares of a population, with intervals that hold sampling and noise.

    Attributes:
        counts: noisy counts of these records.
        variance: of the noise of each.
        reach: of an interval, in standard errors.
    """

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
