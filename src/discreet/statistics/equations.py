r"""The equations of hazards and odds on noisy counts, their root, and the law of both.

They are linear in the counts: Σ z (a(u)·d − b(u)·M), with odds or rates u = λ_t exp(β·x_c) of period t and
cell c, events d, units at risk M, z = (period, x_c); theory: docs/theory/questions.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from discreet.arrays import Floats

Link = Literal["cloglog", "logit"]
_STEPS, _SHORTEST = 60, 1e-6
_LEAST, _MOST = -0.9, 500.0
"""Odds and rates: below -1 odds make no sense, and above hundreds nobody is spared."""
_FAR = 12.0
"""Logarithms of ratios beyond this are those of a level in which everybody, or nobody, has the event."""


class Counts(NamedTuple):
    """Noisy counts with what makes events and units at risk of them.

    Attributes:
        raw: those with the event and those without, shape ``(bins, cells, 2)``.
        at_risk: how much the event and its absence in each bin count as at risk in each period, shape
            ``(2, periods, bins)``.
        variance: of the noise of each raw count.
    """

    raw: Floats
    at_risk: Floats
    variance: float

    @property
    def events(self) -> Floats:
        """Shape ``(periods, cells)``."""
        found: Floats = self.raw[: self.at_risk.shape[1], :, 0]
        return found

    @property
    def exposed(self) -> Floats:
        """Units at risk, shape ``(periods, cells)``."""
        found: Floats = np.einsum("eps,sce->pc", self.at_risk, self.raw, optimize=True)
        return found


class Weights(NamedTuple):
    """a(u), b(u), their derivatives, and a²h(1 − h), each of the shape of u."""

    event: Floats
    exposed: Floats
    event_slope: Floats
    exposed_slope: Floats
    spread: Floats


@dataclass(frozen=True, slots=True)
class Fit:
    """A root of the equations.

    Attributes:
        counts: what was fitted.
        design: of the cells, shape ``(cells, effects)``.
        link: of both.
        rates: λ, shape ``(periods,)``.
        slopes: β, shape ``(effects,)``.
    """

    counts: Counts
    design: Floats
    link: Link
    rates: Floats
    slopes: Floats

    @property
    def multipliers(self) -> Floats:
        """Of λ in each cell: exp(β·x)."""
        found: Floats = np.exp(self.design @ self.slopes)
        return found

    @property
    def levels(self) -> Floats:
        """Odds or rates u, shape ``(periods, cells)``."""
        return np.outer(self.rates, self.multipliers)

    @property
    def rows(self) -> Floats:
        """Z of each period and cell, shape ``(periods, cells, periods + effects)``."""
        periods, (cells, effects) = len(self.rates), self.design.shape
        found = np.zeros((periods, cells, periods + effects))
        found[np.arange(periods), :, np.arange(periods)] = 1.0
        found[:, :, periods:] = self.design
        return found

    @property
    def directions(self) -> Floats:
        """Derivatives of u by λ and β, shaped as `rows`."""
        found = self.rows
        periods = len(self.rates)
        found[:, :, :periods] *= self.multipliers[None, :, None]
        found[:, :, periods:] *= self.levels[:, :, None]
        return found


def weights_of(levels: Floats, link: Link) -> Weights:
    """Returns what an event and a unit at risk add, at odds or rates ``levels``."""
    one, none = np.ones_like(levels), np.zeros_like(levels)
    positive = np.maximum(levels, 0.0)
    if link == "logit":
        odds = 1.0 + levels
        return Weights(one, levels / odds, none, one / odds**2, positive / (1.0 + positive) ** 2)
    near = np.abs(levels) < 1e-3
    safe = np.where(near, 1.0, levels)
    share = -np.expm1(-safe)
    event = np.where(near, 1 + levels / 2 + levels**2 / 12, safe / share)
    slope = np.where(near, 0.5 + levels / 6, (share - safe * np.exp(-safe)) / share**2)
    spread = np.where(near, positive, np.maximum(safe, 0.0) ** 2 / np.expm1(np.maximum(np.abs(safe), 1e-9)))
    return Weights(event, levels, slope, one, spread)


def equations(fit: Fit) -> tuple[Floats, Floats]:
    """Returns the left-hand side, and its derivative."""
    weights = weights_of(fit.levels, fit.link)
    events, exposed = fit.counts.events, fit.counts.exposed
    value = np.einsum(
        "pcz,pc->z", fit.rows, weights.event * events - weights.exposed * exposed, optimize=True
    )
    slope = weights.event_slope * events - weights.exposed_slope * exposed
    return value, _summed(fit.rows, slope, fit.directions)


def _summed(rows: Floats, weights: Floats, others: Floats) -> Floats:
    """Returns the sum over periods and cells of z w yᵀ."""
    left, right = (one.reshape(-1, one.shape[-1]) for one in (rows, others))
    found: Floats = left.T @ (weights.reshape(-1, 1) * right)
    return found


def solved(counts: Counts, design: Floats, link: Link, free: Sequence[int]) -> Fit | None:
    """Returns the root with effects other than ``free`` at 0; None if there is none within reach."""
    events, exposed = counts.events.sum(axis=1), counts.exposed.sum(axis=1)
    share = np.clip(events / np.maximum(exposed, 1e-300), -0.5, 0.9)
    rates = share / (1 - share) if link == "logit" else -np.log1p(-share)
    fit = Fit(counts, design, link, rates, np.zeros(design.shape[1]))
    moving = [*range(len(rates)), *(len(rates) + place for place in free)]
    for _ in range(_STEPS):
        value, slope = equations(fit)
        step = np.zeros(len(value))
        try:
            step[moving] = -np.linalg.solve(slope[np.ix_(moving, moving)], value[moving])
        except np.linalg.LinAlgError:
            return None
        if not np.all(np.isfinite(step)):
            return None
        moved = _moved(fit, step)
        if moved is None or not np.all(np.abs(moved.slopes) < _FAR):
            return None
        fit = moved
        if np.abs(step).max() < 1e-10:
            return fit
    return None


def _moved(fit: Fit, step: Floats) -> Fit | None:
    """Returns the fit after as much of a step as keeps odds possible and moves no slope by more than 1."""
    periods, length = len(fit.rates), 1.0
    while length > _SHORTEST:
        rates, slopes = fit.rates + length * step[:periods], fit.slopes + length * step[periods:]
        found = Fit(fit.counts, fit.design, fit.link, rates, slopes)
        if np.abs(slopes - fit.slopes).max(initial=0.0) <= 1.0:
            levels = found.levels
            if levels.min() > _LEAST and levels.max() < _MOST:
                return found
        length /= 2
    return None


def pulled(fit: Fit, cells: tuple[Floats, Floats]) -> Floats:
    """Returns what a raw count adds, shape ``(…, bins, cells, 2)``, from what events and units at risk do."""
    by_event, by_exposed = cells
    found: Floats = np.moveaxis(np.tensordot(by_exposed, fit.counts.at_risk, ((-2,), (1,))), -1, -3)
    found[..., : by_event.shape[-2], :, 0] += by_event
    return found


def _noise_rows(fit: Fit) -> Floats:
    """Returns the derivative of the equations by every raw count, shape ``(equations, counts)``."""
    weights, rows = weights_of(fit.levels, fit.link), np.moveaxis(fit.rows, -1, 0)
    return pulled(fit, (rows * weights.event, -rows * weights.exposed)).reshape(len(rows), -1)


def covariance_of(fit: Fit) -> Floats:
    """Returns the covariance of the equations: the model's, and that of the noise."""
    weights, exposed = weights_of(fit.levels, fit.link), np.maximum(fit.counts.exposed, 0.0)
    sampling = _summed(fit.rows, weights.spread * exposed, fit.rows)
    noise = _noise_rows(fit)
    found: Floats = sampling + fit.counts.variance * (noise @ noise.T)
    return found
