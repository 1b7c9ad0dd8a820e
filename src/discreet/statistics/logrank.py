"""Whether groups differ in survival, tested against groups of one survival with the same noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy

from discreet.arrays import Booleans, Floats, Integers
from discreet.statistics.rows import Row, number_row
from discreet.statistics.survival import exposure_variances, exposures

DRAWS = 1999


@dataclass(frozen=True, slots=True)
class LogRank:
    """A log-rank test.

    Attributes:
        p_value: of the hypothesis that all groups have one survival; None where nothing can be told.
        draws: how often the hypothesis was simulated.
    """

    p_value: float | None
    draws: int

    def rows(self) -> tuple[Row, ...]:
        """Returns the p-value."""
        how = f"{self.draws} simulations of groups of one survival, noise included"
        return (number_row("p-value of the log-rank test", self.p_value, how),)


class _Null(NamedTuple):
    """Groups of one survival.

    Attributes:
        sizes: units of each group at the start, shape ``(groups,)``.
        leaving: share of the units at the start of a bin that leave in it, shape ``(groups, bins)``.
        events: share of those who leave that do so by an event, shape ``(groups, bins)``.
    """

    sizes: Integers
    leaving: Floats
    events: Floats


def logrank(
    sums: Floats,
    variance: float,
    edges: Sequence[float],
    groups: Sequence[str],
    *,
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> LogRank:
    """Tests whether all groups have one survival.

    Events less those expected, of each group, are weighed by their covariance, sampling and noise; the
    p-value is the statistic's place among those of groups that share the pooled hazards, keep their own
    censoring, and got the same noise. χ² would reject too often, and so would a simulation without the course
    of time inside a bin, where censoring differs. Bins count while the pooled number at risk stands out from
    its noise.

    Args:
        sums: noisy counts, ``groups * bins * 2``, as for `survival`.
        variance: of the noise of each.
        edges: of the bins, as for `survival`; in a last one without end nobody has an event.
        groups: names, two or more.
        rng: seeded from public numbers, so that everybody gets the same answer.
        draws: of the hypothesis.
    """
    counts = np.asarray(sums, dtype=np.float64).reshape(len(groups), len(edges) - 1, 2)
    finite = np.isfinite(edges[1:])
    measured = _statistic(counts[None], variance, finite)[0]
    if len(groups) < 2 or np.isnan(measured):
        return LogRank(None, 0)
    drawn = _drawn(_fitted(counts), rng, draws)
    noisy = drawn + rng.normal(0.0, np.sqrt(variance), size=drawn.shape)
    others = _statistic(noisy, variance, finite)
    above = int(np.count_nonzero(~(others < measured * (1 - 1e-9))))
    return LogRank((1 + above) / (1 + draws), draws)


def _statistic(counts: Floats, variance: float, finite: Booleans) -> Floats:
    """Returns the statistics of tables ``(draws, groups, bins, 2)``; NaN where no bin can be used."""
    groups, bins = counts.shape[1:3]
    exposed, events = exposures(counts), counts[..., 0]
    pooled = exposed.sum(axis=1)
    clear = pooled > np.maximum(1.0, 2 * np.sqrt(groups * exposure_variances(variance, bins)))
    used = np.cumprod(clear & finite, axis=1)
    safe = np.where(used > 0, pooled, 1.0)
    shares = np.maximum(exposed, 0.0)
    shares = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    total = events.sum(axis=1)
    differences = ((events - shares * total[:, None]) * used[:, None]).sum(axis=2)
    # Totals below zero stay, since clipping each would make the sum of all too large.
    hypergeometric = total * np.clip((safe - total) / np.maximum(safe - 1, 1.0), 0.0, 1.0)
    mixing = np.eye(groups)[:, :, None] - shares[:, :, None, :]
    sampling = np.einsum("nik,njk,nk->nij", shares, -shares, hypergeometric * used)
    sampling += np.einsum("nik,nk,ij->nij", shares, hypergeometric * used, np.eye(groups))
    noise = variance * np.einsum("nigk,njgk,nk->nij", mixing, mixing, used.astype(float))
    covariance = sampling + noise
    # One group follows from the others.
    return _quadratic(differences[:, :-1], covariance[:, :-1, :-1], used[:, 0] > 0)


def _quadratic(vectors: Floats, covariances: Floats, usable: Booleans) -> Floats:
    inverse = np.linalg.pinv(covariances, hermitian=True)
    found = np.einsum("ni,nij,nj->n", vectors, inverse, vectors)
    return np.where(usable, found, np.nan)


def _fitted(counts: Floats) -> _Null:
    """Returns the null hypothesis next to noisy counts: numbers at risk that fall, and one rate of events."""
    at_risk = np.cumsum(counts.sum(axis=2)[:, ::-1], axis=1)[:, ::-1]
    falling = np.maximum(
        [scipy.optimize.isotonic_regression(one, increasing=False).x for one in at_risk], 0.0
    )
    after = np.hstack([falling[:, 1:], np.zeros((len(falling), 1))])
    noisy = counts[..., 0].sum(axis=0)
    kept = np.maximum(noisy, 0.0)
    kept *= max(0.0, float(noisy.sum())) / max(float(kept.sum()), 1e-300)
    exposed = exposures(counts).sum(axis=0)
    hazards = np.divide(kept, exposed, out=np.zeros_like(kept), where=exposed > kept)
    staying = np.divide(after, falling, out=np.zeros_like(falling), where=falling > 0)
    # Rates are constant inside a bin, and add up to minus the logarithm of the share that stays.
    event_rates = -np.log1p(-hazards)
    rates = np.maximum(-np.log(np.where(staying > 0, staying, 1.0)), event_rates)
    events = np.divide(event_rates, rates, out=np.zeros_like(rates), where=rates > 0)
    # Where nobody stays there is no rate, and a share h of (events + half of the others) has the event.
    everybody = staying <= 0
    leaving = np.where(everybody, 1.0, -np.expm1(-rates))
    events = np.where(everybody, hazards / (2 - hazards), events)
    return _Null(np.round(falling[:, 0]).astype(np.int64), leaving, events)


def _drawn(null: _Null, rng: np.random.Generator, draws: int) -> Floats:
    """Returns counts without noise, shape ``(draws, groups, bins, 2)``."""
    groups, bins = null.leaving.shape
    left = np.broadcast_to(null.sizes, (draws, groups))
    found = np.zeros((draws, groups, bins, 2))
    for place in range(bins):
        leaving = rng.binomial(left, null.leaving[:, place])
        events = rng.binomial(leaving, null.events[:, place])
        found[:, :, place] = np.stack([events, leaving - events], axis=-1)
        left = left - leaving
    return found
