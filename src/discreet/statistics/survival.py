"""Survival in groups from noisy counts of events and of the censored in bins of time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy

from discreet.arrays import Floats
from discreet.quality.intervals import Interval
from discreet.statistics.counts import noisy_count
from discreet.statistics.inversion import around, normal_quantile, not_rejected, within
from discreet.statistics.rows import Row, interval_row

HALF = 0.5


@dataclass(frozen=True, slots=True)
class Curve:
    """The survival of one group.

    Attributes:
        group: its name.
        times: finite ends of the bins, in own units.
        survival: the share of the population without an event at each time; None where it cannot be told.
        at_risk: units in these records at the start of each bin; noise only.
        median: the time at which half have had the event; infinite where the curve does not come to that.
        restricted_mean: mean time without the event up to the last of ``times``.
    """

    group: str
    times: tuple[float, ...]
    survival: tuple[Interval | None, ...]
    at_risk: tuple[Interval, ...]
    median: Interval | None
    restricted_mean: Interval | None

    def rows(self) -> tuple[Row, ...]:
        """Returns the survival at each time, the numbers at risk, the median and the restricted mean."""
        shares = zip(self.times, self.survival, strict=True)
        starts = zip((0.0, *self.times), self.at_risk, strict=False)
        reached = self.median is None or math.isfinite(self.median.value)
        return (
            *(interval_row(f"{self.group}: survival at {time:g}", found) for time, found in shares),
            *(interval_row(f"{self.group}: at risk at {time:g}", found) for time, found in starts),
            interval_row(f"{self.group}: median survival", self.median, "" if reached else "not reached"),
            interval_row(f"{self.group}: restricted mean up to {self.times[-1]:g}", self.restricted_mean),
        )


@dataclass(frozen=True, slots=True)
class Survival:
    """The survival of each group."""

    curves: tuple[Curve, ...]

    def rows(self) -> tuple[Row, ...]:
        """Returns the rows of each curve."""
        return tuple(row for curve in self.curves for row in curve.rows())


class _Estimate(NamedTuple):
    """Survival S at the finite times that can be told, T of them.

    Attributes:
        survival: shape ``(T,)``, inside [0, 1].
        gradient: of S by each coordinate of the group, shape ``(T, 2 * bins)``.
        greenwood: Greenwood's sums, S² times which is the sampling variance; at least 0.
        exposed: units at risk in each bin.
    """

    survival: Floats
    gradient: Floats
    greenwood: Floats
    exposed: Floats


def survival(
    sums: Floats,
    variance: float,
    edges: Sequence[float],
    groups: Sequence[str],
    *,
    level: float = 0.95,
) -> Survival:
    """Returns the survival of each group by the actuarial (life table) estimator.

    Somebody censored in a bin is at risk for half of it: times are continuous and the bins wide, since each
    costs noise, and at risk for the whole bin (Kaplan and Meier's convention for ties) would overestimate
    survival. Where nobody is censored before the last bin, it is Kaplan and Meier's estimator.

    Bands are pointwise. Sampling is Greenwood's, in the form of Wilson's interval with the effective number
    of units (Rothman 1978); the noise is added by the derivative of the curve by every coordinate, so that
    the noise that the numbers at risk share is accounted for. A time is told while the number at risk stands
    out from its noise.

    Args:
        sums: noisy counts, ``groups * bins * 2``: group, then bin of time, then event and censored.
        variance: of the noise of each.
        edges: of the bins, in own units, one more than bins, from 0; the last may be infinite, and then the
            last bin holds those who were still followed at the edge before.
        groups: names.
        level: of the intervals.
    """
    counts = np.asarray(sums, dtype=np.float64).reshape(len(groups), len(edges) - 1, 2)
    finite = tuple(float(edge) for edge in edges[1:] if math.isfinite(edge))
    starts = np.array([edges[0], *finite], dtype=np.float64)
    return Survival(
        tuple(
            _curve(one, variance, starts, group=group, level=level)
            for group, one in zip(groups, counts, strict=True)
        )
    )


def exposures(counts: Floats) -> Floats:
    """Returns the units at risk in bins, ``(…, bins)``, the censored for half of one; of ``(…, bins, 2)``."""
    at_risk = np.cumsum(counts.sum(axis=-1)[..., ::-1], axis=-1)[..., ::-1]
    found: Floats = at_risk - counts[..., 1] / 2
    return found


def exposure_variances(variance: float, bins: int) -> Floats:
    """Returns the variance of the noise of `exposures`, shape ``(bins,)``."""
    later: Floats = np.arange(bins - 1, -1, -1, dtype=np.float64)
    return variance * (2 * later + 1.25)


def _curve(counts: Floats, variance: float, edges: Floats, *, group: str, level: float) -> Curve:
    reach, bins, times = normal_quantile(level), len(counts), edges[1:]
    found = _estimate(counts, variance, len(times))
    # Noise makes a curve rise, which none does; the nearest falling one is shown.
    falling = (
        scipy.optimize.isotonic_regression(found.survival, increasing=False).x if len(found.survival) else []
    )
    raw = [_band(found, place, variance, reach) for place in range(len(found.survival))]
    bands = [
        None if band is None else around(float(value), band.low, band.high)
        for value, band in zip(falling, raw, strict=True)
    ]
    at_risk = np.cumsum(counts.sum(axis=1)[::-1])[::-1].tolist()
    return Curve(
        group,
        tuple(times.tolist()),
        (*bands, *(None for _ in range(len(times) - len(bands)))),
        tuple(noisy_count(left, 2 * (bins - place) * variance, level) for place, left in enumerate(at_risk)),
        _median(edges, bands),
        _restricted_mean(edges, found, variance, reach),
    )


def _estimate(counts: Floats, variance: float, times: int) -> _Estimate:
    """Returns the curve as far as the number at risk is more than twice its noise, and above 0."""
    bins = len(counts)
    exposed, events = exposures(counts), counts[:, 0]
    clear = exposed > 2 * np.sqrt(exposure_variances(variance, bins))
    told = int(np.argmin(np.append(clear[:times], False)))
    exposed, events = exposed[:told], events[:told]
    left = exposed - events
    # Somebody is left, unless all had the event: then the curve is 0 from there.
    alive = np.cumprod(left > 0) > 0
    ratios = np.where(alive, left / np.maximum(exposed, 1e-300), 0.0)
    safe = np.where(alive, left, 1.0)
    hazards = np.where(alive, events / (safe * np.maximum(exposed, 1e-300)), 0.0)
    sums = np.cumsum(hazards)
    raw = np.cumprod(ratios)
    gradient = raw[:, None] * _log_gradient(sums, hazards, safe, bins)
    return _Estimate(np.clip(raw, 0.0, 1.0), gradient, np.maximum(sums, 0.0), exposed)


def _log_gradient(sums: Floats, hazards: Floats, left: Floats, bins: int) -> Floats:
    """Returns the derivatives of log S at T times by events and censored of all bins, ``(T, 2 * bins)``.

    A unit of bin k was at risk in the bins up to k: 1/(M − d) − 1/M of each of them, and −1/(M − d) for its
    event; somebody censored counts for half of bin k.
    """
    told = len(sums)
    place, time = np.meshgrid(np.arange(bins), np.arange(told))
    shared = np.zeros((told, bins))
    shared[:] = sums[np.minimum(place, time)] if told else 0.0
    padded, inverse = np.zeros(bins), np.zeros(bins)
    padded[:told], inverse[:told] = hazards, 1 / left
    before = place <= time
    found: Floats = np.hstack([shared - before * inverse, shared - before * padded / 2])
    return found


def _band(found: _Estimate, place: int, variance: float, reach: float) -> Interval | None:
    """Returns the S with (Ŝ − S)² ≤ reach²(S(1 − S)/n_eff + noise), where n_eff makes it Greenwood's."""
    value, greenwood = float(found.survival[place]), float(found.greenwood[place])
    odds = (1 - value) / value if value > 0 else math.inf
    at_least, at_most = float(found.exposed[place]), float(found.exposed[0])
    effective = odds / greenwood if greenwood > 0 else at_least
    effective = min(max(effective, min(at_least, at_most)), max(at_least, at_most))
    noise = variance * float(found.gradient[place] @ found.gradient[place])
    curvature = (-1 / effective, 1 / effective, noise)
    band = not_rejected(value, 1.0, reach, curvature=curvature)
    return None if band is None else within(band, 0.0, 1.0)


def _median(edges: Floats, bands: Sequence[Interval | None]) -> Interval | None:
    """Returns when the curve, and where its band, hold one half (Brookmeyer and Crowley 1982)."""
    told = [band for band in bands if band is not None]
    if not told or len(told) < len(bands):
        return None
    values, lows, highs = (np.array([1.0, *(band[end] for band in told)]) for end in range(3))
    places = edges[: len(values)]
    monotone = scipy.optimize.isotonic_regression(values, increasing=False).x
    value = _first_below(places, monotone)
    # The band may rise where noise is: its last place above one half counts.
    low, high = _first_below(places, lows), _first_below(places, np.maximum.accumulate(highs[::-1])[::-1])
    return around(value, low, high)


def _first_below(edges: Floats, curve: Floats) -> float:
    below = np.flatnonzero(curve <= HALF)
    if len(below) == 0:
        return math.inf
    first = int(below[0])
    if first == 0:
        return float(edges[0])
    drop = curve[first - 1] - curve[first]
    inside = (curve[first - 1] - HALF) / drop if drop > 0 else 1.0
    return float(edges[first - 1] + inside * (edges[first] - edges[first - 1]))


def _restricted_mean(edges: Floats, found: _Estimate, variance: float, reach: float) -> Interval | None:
    """Returns the area under the curve; None if it is not told to the end.

    The hazard is taken as constant inside a bin: the mean height between a and b is (a − b)/log(a/b), which
    is (a + b)/2 − (a − b)²/(6(a + b)) to fourth order, and that has a value where noise brings b to 0.
    """
    widths = np.diff(edges)
    if len(found.survival) < len(widths) or len(widths) == 0:
        return None
    before = np.append(1.0, found.survival[:-1])
    drops, both = before - found.survival, before + found.survival
    safe = np.where(both > 0, both, 1.0)
    value = float(widths @ (both / 2 - drops**2 / (6 * safe)))
    by_start = widths * (0.5 - drops * (before + 3 * found.survival) / (6 * safe**2))
    by_end = widths * (0.5 + drops * (3 * before + found.survival) / (6 * safe**2))
    weights = by_end + np.append(by_start[1:], 0.0)
    slope = weights @ found.gradient
    order = np.arange(len(widths))
    greenwood = found.greenwood[np.minimum(order[:, None], order[None, :])]
    weighted = weights * found.survival
    half = reach * math.sqrt(float(weighted @ greenwood @ weighted) + variance * float(slope @ slope))
    return within(around(value, value - half, value + half), 0.0, float(edges[-1] - edges[0]))
