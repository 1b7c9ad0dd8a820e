r"""Ratios of hazards and of odds from noisy counts: Cox's model in grouped time, and logistic regression.

With odds or rates u = λ_t exp(β·x_c) of covariate cell c in period t, the likelihood equations are

    Σ z (a(u)·d − b(u)·M) = 0,

where d are events, M units at risk, z = (period, x_c), and a, b are public functions: complementary log-log
(Prentice and Gloeckler 1978) a = u/(1 − exp(−u)), b = u; logit (Cox 1972) a = 1, b = u/(1 + u). They are
linear in the counts, so that noise of mean zero leaves them unbiased at every (λ, β) (corrected scores:
Nakamura 1990), and their covariance is the model's plus that of the noise, exactly. λ_t may come out negative
where noise is larger than events: a sign is no harm, and cutting it off would be a bias.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from discreet.arrays import Booleans, Floats, Integers
from discreet.quality.intervals import Interval
from discreet.statistics.equations import (
    Counts,
    Fit,
    Link,
    covariance_of,
    equations,
    pulled,
    solved,
    weights_of,
)
from discreet.statistics.inversion import around, normal_quantile
from discreet.statistics.rows import Row, interval_row, number_row

_WHAT: dict[Link, str] = {"cloglog": "hazard ratio", "logit": "odds ratio of the hazard"}
_HUGE = 100.0


@dataclass(frozen=True, slots=True)
class Effect:
    """One level of a covariate against the reference level.

    Attributes:
        name: of covariate and level.
        reference: the level that it is compared with.
        log_ratio: of hazards or odds, with its interval; None where it cannot be told.
        standard_error: of ``log_ratio``, sampling and noise.
        p_value: of the hypothesis that the ratio is 1.
    """

    name: str
    reference: str
    log_ratio: Interval | None
    standard_error: float | None = None
    p_value: float | None = None

    @property
    def ratio(self) -> Interval | None:
        """Of hazards or odds."""
        if self.log_ratio is None:
            return None
        return Interval(*(math.exp(end) if end < _HUGE else math.inf for end in self.log_ratio))


@dataclass(frozen=True, slots=True)
class Effects:
    """What every level of every covariate does to a hazard or to odds, the other covariates held fixed.

    Attributes:
        what: "hazard ratio" or "odds ratio".
        effects: all levels but the references.
        p_value: of the hypothesis that no covariate has an effect; None where it cannot be told.
        left_out: levels whose units are left out, since they are too few for the noise.
    """

    what: str
    effects: tuple[Effect, ...]
    p_value: float | None
    left_out: tuple[str, ...] = ()

    def rows(self) -> tuple[Row, ...]:
        """Returns the test of all, and ratio, logarithm's standard error and p-value of each level."""
        few = ", ".join(self.left_out)
        without = f"without {few}, of too few with or without the outcome" if few else ""
        found = [number_row("p-value of no effect at all", self.p_value, without)]
        for one in self.effects:
            compared = "; ".join(filter(None, (f"against {one.reference}", _in_short(one.p_value))))
            found += [
                interval_row(f"{one.name}: {self.what}", one.ratio, compared),
                number_row(f"{one.name}: standard error of the logarithm", one.standard_error),
                number_row(f"{one.name}: p-value", one.p_value),
            ]
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Covariate:
    """A column that cuts units into levels.

    Attributes:
        name: the column's.
        levels: texts, in the order of the cells.
        reference: place of the level that the others are compared with.
    """

    name: str
    levels: tuple[str, ...]
    reference: int = 0


def hazards(
    sums: Floats,
    variance: float,
    edges: Sequence[float],
    covariates: Sequence[Covariate],
    *,
    link: Link = "cloglog",
    level: float = 0.95,
) -> Effects:
    """Returns hazard ratios in grouped time, or with "logit" the ratios of the odds of an event in a bin.

    Somebody censored in a bin is at risk for half of it, as in `survival`. Bins count while the number of
    those who are spared in them, of all cells, stands out from its noise.

    Args:
        sums: noisy counts, covariates, then bin of time, then event and censored, the last fastest.
        variance: of the noise of each.
        edges: of the bins, as for `survival`; in a last one without end nobody has an event.
        covariates: one or more.
        link: "cloglog" for proportional hazards, "logit" for proportional odds of the hazard.
        level: of the intervals.
    """
    cells = math.prod(len(one.levels) for one in covariates)
    raw = np.asarray(sums, dtype=np.float64).reshape(cells, len(edges) - 1, 2).transpose(1, 0, 2)
    left = raw.sum(axis=(1, 2))[::-1].cumsum()[::-1]
    noise = np.sqrt(2 * cells * variance * np.arange(len(left), 0, -1))
    spared = left - raw[:, :, 0].sum(axis=1)
    clear = (spared > np.maximum(1.0, 2 * noise)) & np.isfinite(edges[1:])
    used = int(np.argmin(np.append(clear, False)))
    later = np.triu(np.ones((len(left), len(left))))
    at_risk = np.stack([later, later - np.eye(len(left)) / 2])[:, :used]
    return _effects(Counts(raw, at_risk, variance), covariates, _WHAT[link], link, level)


def logistic_regression(
    sums: Floats, variance: float, covariates: Sequence[Covariate], *, level: float = 0.95
) -> Effects:
    """Returns odds ratios.

    Args:
        sums: noisy counts, covariates, then those with the outcome and those without, the last fastest.
        variance: of the noise of each.
        covariates: one or more.
        level: of the intervals.
    """
    raw = np.asarray(sums, dtype=np.float64).reshape(1, -1, 2)
    return _effects(Counts(raw, np.ones((2, 1, 1)), variance), covariates, "odds ratio", "logit", level)


def _in_short(p_value: float | None) -> str:
    return "" if p_value is None else "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"


def _effects(counts: Counts, covariates: Sequence[Covariate], what: str, link: Link, level: float) -> Effects:
    names, design, kept, told = _design(counts, covariates)
    reach = normal_quantile(level)
    left_out = _left_out(counts, covariates)
    unknown = {name: Effect(name, reference, None) for name, reference in names.items()}
    if not (counts.at_risk.shape[1] and told.any()):
        return Effects(what, tuple(unknown.values()), None, left_out)
    part = Counts(counts.raw[:, kept], counts.at_risk, counts.variance)
    known = design[kept][:, told]
    found = solved(part, known, link, range(known.shape[1]))
    if found is not None:
        own = [name for name, one in zip(names, told, strict=True) if one]
        law = equations(found)[1], covariance_of(found)
        unknown |= {name: _effect(found, law, place, unknown[name], reach) for place, name in enumerate(own)}
    return Effects(what, tuple(unknown.values()), _none_at_all(part, known, link), left_out)


def _left_out(counts: Counts, covariates: Sequence[Covariate]) -> tuple[str, ...]:
    """Returns the levels that do not stand out from their noise, references included."""
    places = _places(covariates)
    return tuple(
        f"{one.name} = {text}"
        for one, place in zip(covariates, places, strict=True)
        for number, text in enumerate(one.levels)
        if not _stands_out(counts, place == number)
    )


def _places(covariates: Sequence[Covariate]) -> Integers:
    """Returns the level of each cell, shape ``(covariates, cells)``."""
    shape = tuple(len(one.levels) for one in covariates)
    return np.array(np.unravel_index(np.arange(math.prod(shape)), shape), dtype=np.int64)


def _design(
    counts: Counts, covariates: Sequence[Covariate]
) -> tuple[dict[str, str], Floats, Booleans, Booleans]:
    """Returns names with references, columns, which cells are kept, and which effects can be told.

    A level counts while those with the event and those without stand out from their noise; one that does not
    is left out with its units. Where a reference does not, nothing can be told: without it the other
    covariates' effects would be those of another model.
    """
    places = _places(covariates)
    kept = np.ones(places.shape[1], dtype=np.bool_)
    names: dict[str, str] = {}
    columns, told = [], []
    compared = True
    for one, place in zip(covariates, places, strict=True):
        seen = [_stands_out(counts, place == number) for number in range(len(one.levels))]
        compared &= seen[one.reference]
        for number, text in enumerate(one.levels):
            if not seen[number]:
                kept &= place != number
            if number != one.reference:
                names[f"{one.name} = {text}"] = one.levels[one.reference]
                columns.append(place == number)
                told.append(seen[number])
    return names, np.array(columns, dtype=np.float64).T, kept, np.array(told, dtype=np.bool_) & compared


def _stands_out(counts: Counts, cells: Booleans) -> bool:
    """Returns whether events, and periods without one, are more than twice their noise in ``cells``."""
    events, exposed = counts.events[:, cells].sum(), counts.exposed[:, cells].sum()
    periods = counts.at_risk.shape[1]
    without = counts.at_risk.sum(axis=1)
    without[0, :periods] -= 1.0
    noise = 2 * math.sqrt(counts.variance * np.count_nonzero(cells))
    enough = events > max(1e-9, noise * math.sqrt(periods))
    return bool(enough and exposed - events > max(1e-9, noise * float(np.linalg.norm(without))))


def _effect(fit: Fit, law: tuple[Floats, Floats], place: int, untold: Effect, reach: float) -> Effect:
    """Returns one effect: the values that the law of the equations does not reject, as Fieller (1954).

    Let the effect move by x from the root, the other parameters as their covariance says: the equation that
    tells it has the variance a2 x² + a1 x + a0 there, for its derivative is noisy too. ``law`` is that
    derivative and the covariance of the equations. Where they tell nothing, it is ``untold``.
    """
    slope, covariance = law
    if np.linalg.matrix_rank(slope) < len(slope):
        return untold
    periods = len(fit.rates)
    lever = -np.linalg.inv(slope)[periods + place]
    a0 = float(lever @ covariance @ lever)
    if not a0 > 0:
        return untold
    follows = -np.linalg.solve(slope, covariance @ lever) / a0
    weights, row = weights_of(fit.levels, fit.link), fit.rows @ lever
    along = row * (fit.directions @ follows)
    here = pulled(fit, (row * weights.event, -row * weights.exposed))
    moved = pulled(fit, (along * weights.event_slope, -along * weights.exposed_slope))
    a1 = 2 * fit.counts.variance * float((here * moved).sum())
    a2 = fit.counts.variance * float((moved**2).sum())
    square, value = reach * reach, float(fit.slopes[place])
    if not square * a2 < 1:
        return untold
    middle = square * a1 / 2 / (1 - square * a2)
    half = math.sqrt(max(0.0, middle * middle + square * a0 / (1 - square * a2)))
    at_zero = a2 * value**2 - a1 * value + a0
    p_value = 2 * float(scipy.special.ndtr(-abs(value) / math.sqrt(max(at_zero, 1e-300))))
    ratio = around(value, value + middle - half, value + middle + half)
    return replace(untold, log_ratio=ratio, standard_error=math.sqrt(a0), p_value=p_value)


def _none_at_all(counts: Counts, design: Floats, link: Link) -> float | None:
    """Returns the p-value of the score test of β = 0 (Rao 1948; with a covariance of its own, Boos 1992)."""
    fit = solved(counts, design, link, ())
    if fit is None:
        return None
    value, slope = equations(fit)
    periods = len(fit.rates)
    if np.linalg.matrix_rank(slope[:periods, :periods]) < periods:
        return None
    aside = slope[periods:, :periods] @ np.linalg.inv(slope[:periods, :periods])
    lever = np.hstack([-aside, np.eye(len(aside))])
    spread = lever @ covariance_of(fit) @ lever.T
    if np.linalg.matrix_rank(spread, hermitian=True) < len(spread):
        return None
    squared = float(value[periods:] @ np.linalg.solve(spread, value[periods:]))
    return float(scipy.special.chdtrc(len(spread), max(0.0, squared)))
