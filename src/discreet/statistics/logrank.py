"""Whether groups differ in survival, tested against groups of one survival with the same noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy

from discreet.arrays import Booleans, Floats
from discreet.statistics.rows import Row, number_row
from discreet.statistics.survival import HALF, exposure_variances, exposures

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
        hazards: share of those at risk with an event in each bin, shape ``(bins,)``.
        leaving: share of the units at the start of a bin that is censored there, ``(groups, bins)``.
    """

    sizes: Floats
    hazards: Floats
    leaving: Floats


def logrank(
    sums: Floats,
    variance: float,
    shape: tuple[int, int],
    *,
    rng: np.random.Generator,
    censored_at_risk: float = HALF,
    draws: int = DRAWS,
) -> LogRank:
    """Tests whether all groups have one survival.

    Events less those expected, of each group, are weighed by their covariance, sampling and noise; the
    p-value is the statistic's place among those of groups that share the pooled hazards, keep their own
    censoring, and got the same noise. χ² would reject too often. Bins count while the pooled number at risk
    stands out from its noise.

    Args:
        sums: noisy counts, ``groups * bins * 2``, as for `survival`.
        variance: of the noise of each.
        shape: groups and bins.
        rng: seeded from public numbers, so that everybody gets the same answer.
        censored_at_risk: how much of their bin the censored are at risk for.
        draws: of the hypothesis.
    """
    counts = np.asarray(sums, dtype=np.float64).reshape(*shape, 2)
    measured = _statistic(counts[None], variance, censored_at_risk)[0]
    if shape[0] < 2 or np.isnan(measured):
        return LogRank(None, 0)
    drawn = _drawn(_fitted(counts, censored_at_risk), rng, censored_at_risk, draws)
    noisy = drawn + rng.normal(0.0, np.sqrt(variance), size=drawn.shape)
    others = _statistic(noisy, variance, censored_at_risk)
    above = int(np.count_nonzero(~(others < measured * (1 - 1e-9))))
    return LogRank((1 + above) / (1 + draws), draws)


def _statistic(counts: Floats, variance: float, partly: float) -> Floats:
    """Returns the statistics of tables ``(draws, groups, bins, 2)``; NaN where no bin can be used."""
    groups, bins = counts.shape[1:3]
    exposed, events = exposures(counts, partly), counts[..., 0]
    pooled = exposed.sum(axis=1)
    clear = pooled > np.maximum(1.0, 2 * np.sqrt(groups * exposure_variances(variance, bins, partly)))
    used = np.cumprod(clear, axis=1)
    safe = np.where(used > 0, pooled, 1.0)
    shares = np.maximum(exposed, 0.0)
    shares = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    total = events.sum(axis=1)
    differences = ((events - shares * total[:, None]) * used[:, None]).sum(axis=2)
    hypergeometric = np.maximum(total, 0.0) * np.clip((safe - total) / np.maximum(safe - 1, 1.0), 0.0, 1.0)
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


def _fitted(counts: Floats, partly: float) -> _Null:
    """Returns the null hypothesis next to noisy counts: numbers at risk made to fall, hazards pooled."""
    at_risk = np.cumsum(counts.sum(axis=2)[:, ::-1], axis=1)[:, ::-1]
    falling = np.maximum(
        [scipy.optimize.isotonic_regression(one, increasing=False).x for one in at_risk], 0.0
    )
    exposed = np.maximum(exposures(counts, partly).sum(axis=0), 0.0)
    events = np.maximum(counts[..., 0].sum(axis=0), 0.0)
    hazards = np.divide(events, exposed, out=np.zeros_like(events), where=exposed > events)
    leaves = falling - np.hstack([falling[:, 1:], np.zeros((len(falling), 1))])
    censored = np.maximum(leaves - hazards * falling, 0.0)
    leaving = np.divide(censored, falling, out=np.zeros_like(falling), where=falling > 0)
    return _Null(falling[:, 0], hazards, np.minimum(leaving, 1.0))


def _drawn(null: _Null, rng: np.random.Generator, partly: float, draws: int) -> Floats:
    """Returns counts without noise, shape ``(draws, groups, bins, 2)``."""
    groups, bins = null.leaving.shape
    left = np.broadcast_to(np.round(null.sizes).astype(np.int64), (draws, groups))
    found = np.zeros((draws, groups, bins, 2))
    for place in range(bins):
        censored = rng.binomial(left, null.leaving[:, place])
        staying = left - censored
        # So that the events of those at risk, the censored in part, have the pooled hazard.
        wanted = null.hazards[place] * (staying + partly * censored)
        share = np.divide(wanted, staying, out=np.zeros_like(wanted), where=staying > 0)
        events = rng.binomial(staying, np.minimum(share, 1.0))
        found[:, :, place] = np.stack([events, censored], axis=-1)
        left = staying - events
    return found
