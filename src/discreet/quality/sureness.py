"""Whether a model is as sure as it is right: stated probabilities beside what happened; not private."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ConfigDict

from discreet.quality.intervals import Interval

STRICT: ConfigDict = {"extra": "forbid"}
"""Measurements that are read from a file have no other names than their own."""

_Z = 1.959963984540054  # the 97.5 % quantile of the normal distribution
# Of a normal distribution, the mean distance from its middle over its standard deviation.
_MEAN_DISTANCE = math.sqrt(2.0 / math.pi)


@dataclass(frozen=True, slots=True)
class Bin:
    """Records of similar probability: how sure the model was, and how often it was right.

    For two classes it is the probability of the second, and its share; for more, that of the likeliest.
    """

    __pydantic_config__ = STRICT

    records: int
    stated: float
    observed: Interval


@dataclass(frozen=True, slots=True)
class Sureness:
    """Stated probabilities beside observed shares, over bins of about as many records.

    Attributes:
        error: the expected calibration error (Naeini, Cooper, Hauskrecht 2015): the distance between stated
            and observed, averaged over the records; 0 is best.
        by_chance: what it is on average, roughly, where so many records are all there is against the model.
        stated: mean probability of what was held for likelier in each bin.
        observed: how often that happened.
        excess: stated less observed, in [-1, 1]; above 0 the model is too sure. Errors of opposite signs
            cancel in it.
    """

    error: float
    by_chance: float
    stated: float
    observed: float
    excess: Interval

    @property
    def words(self) -> str:
        """Says in one sentence whether the model is too sure, if the interval tells."""
        means = f"what is stated with {self.stated:.2f} on average happens in {self.observed:.2f}"
        _, low, high = (100.0 * end for end in self.excess)
        points = f"{100.0 * abs(self.excess.value):.1f} points"
        if low > 0.0:
            return f"Too sure by {points} ({low:.1f} to {high:.1f}): {means}."
        if high < 0.0:
            return f"Not sure enough by {points} ({-high:.1f} to {-low:.1f}): {means}."
        return f"Neither too sure nor not sure enough, as far as these records tell: {means}."

    @property
    def error_text(self) -> str:
        """The error, and what chance alone brings."""
        return f"{self.error:.3f} (by chance about {self.by_chance:.3f})"


def sureness(bins: Sequence[Bin], *, two: bool) -> Sureness:
    """Sums bins up; at least one record.

    Args:
        bins: of the same records as the model's quality.
        two: whether there are two classes, so that bins are of the second one's probability.

    Example:
        >>> bins = [Bin(10, 0.9, Interval(0.7, 0.4, 0.9)), Bin(10, 0.2, Interval(0.3, 0.1, 0.6))]
        >>> found = sureness(bins, two=True)
        >>> f"{found.error:.2f} {found.excess.value:.2f} {found.stated:.2f}"
        '0.15 0.15 0.85'
    """
    records = sum(one.records for one in bins)
    error = chance = stated = observed = variance = 0.0
    for one in bins:
        share = one.records / records
        stddev = (one.observed.high - one.observed.low) / (2.0 * _Z)
        turned = two and one.stated < 1.0 / 2.0
        error += share * abs(one.stated - one.observed.value)
        chance += share * _MEAN_DISTANCE * stddev
        variance += (share * stddev) ** 2
        stated += share * (1.0 - one.stated if turned else one.stated)
        observed += share * (1.0 - one.observed.value if turned else one.observed.value)
    excess, half = stated - observed, _Z * math.sqrt(variance)
    within = Interval(excess, max(-1.0, excess - half), min(1.0, excess + half))
    return Sureness(error, chance, stated, observed, within)
