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
# Of a normal distribution with deviation 1, mean and deviation of the distance from its middle.
_MEAN_DISTANCE = math.sqrt(2.0 / math.pi)
_DISTANCE_DEVIATION = math.sqrt(1.0 - 2.0 / math.pi)
# So many deviations are rare also where bins are of few records, whose own deviation is uncertain.
_WELL_ABOVE = 3.0


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
class Frequency:
    """How frequent a class is, as the model states it and as it is.

    Attributes:
        name: of the class.
        stated: its mean probability.
        observed: its share of the records.
    """

    name: str
    stated: float
    observed: float


@dataclass(frozen=True, slots=True)
class Sureness:
    """Stated probabilities beside observed shares, over bins of about as many records.

    Attributes:
        error: the expected calibration error (Naeini, Cooper, Hauskrecht 2015): the distance between stated
            and observed, averaged over the records; 0 is best.
        by_chance: what it is on average, roughly, where so many records are all there is against the model.
        most_by_chance: three deviations more, which chance alone rarely brings.
        stated: mean probability of what was held for likelier in each bin.
        observed: how often that happened.
        excess: stated less observed, in [-1, 1]; above 0 the model is too sure. Errors of opposite signs
            cancel in it.
        second: of two classes the second, which errors of opposite signs do not hide; else None.
    """

    error: float
    by_chance: float
    most_by_chance: float
    stated: float
    observed: float
    excess: Interval
    second: Frequency | None

    @property
    def words(self) -> str:
        """Says in one sentence whether the model is too sure, if the interval tells.

        It is called neither too sure nor not sure enough only where the error is not well above chance.
        """
        means = f"what is stated with {self.stated:.2f} on average happens in {self.observed:.2f}"
        if self.second is not None:
            name, stated, observed = self.second.name, self.second.stated, self.second.observed
            means += f"; {name!r} is stated with {stated:.2f} on average and is {observed:.2f} of the records"
        _, low, high = (100.0 * end for end in self.excess)
        points = f"{100.0 * abs(self.excess.value):.1f} points"
        if low > 0.0:
            return f"Too sure by {points} ({low:.1f} to {high:.1f}): {means}."
        if high < 0.0:
            return f"Not sure enough by {points} ({-high:.1f} to {-low:.1f}): {means}."
        if self.error > self.most_by_chance:
            return (
                f"Too sure of some records and not sure enough of others, which cancels on average: {means}."
            )
        return f"Neither too sure nor not sure enough, as far as these records tell: {means}."

    @property
    def error_text(self) -> str:
        """The error, and what chance alone brings."""
        return f"{self.error:.3f} (by chance about {self.by_chance:.3f})"


def sureness(bins: Sequence[Bin], *, second: str | None = None) -> Sureness:
    """Sums bins up; at least one record.

    Args:
        bins: of the same records as the model's quality.
        second: the second class's name if there are two: bins are of its probability then.

    Example:
        >>> bins = [Bin(10, 0.9, Interval(0.7, 0.4, 0.9)), Bin(10, 0.2, Interval(0.3, 0.1, 0.6))]
        >>> found = sureness(bins, second="ill")
        >>> f"{found.error:.2f} {found.excess.value:.2f} {found.stated:.2f}"
        '0.15 0.15 0.85'
        >>> f"{found.second.stated:.2f} {found.second.observed:.2f}"
        '0.55 0.50'
    """
    records = sum(one.records for one in bins)
    error = chance = stated = observed = variance = 0.0
    of_second = [0.0, 0.0]
    for one in bins:
        share = one.records / records
        stddev = (one.observed.high - one.observed.low) / (2.0 * _Z)
        turned = second is not None and one.stated < 1.0 / 2.0
        error += share * abs(one.stated - one.observed.value)
        chance += share * _MEAN_DISTANCE * stddev
        variance += (share * stddev) ** 2
        stated += share * (1.0 - one.stated if turned else one.stated)
        observed += share * (1.0 - one.observed.value if turned else one.observed.value)
        of_second = [of_second[0] + share * one.stated, of_second[1] + share * one.observed.value]
    excess, stddev = stated - observed, math.sqrt(variance)
    within = Interval(excess, max(-1.0, excess - _Z * stddev), min(1.0, excess + _Z * stddev))
    most = chance + _WELL_ABOVE * _DISTANCE_DEVIATION * stddev
    frequency = None if second is None else Frequency(second, *of_second)
    return Sureness(error, chance, most, stated, observed, within, frequency)
