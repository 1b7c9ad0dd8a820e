"""Whether two categorical columns go together, tested against tables with the same noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.arrays import Floats
from discreet.statistics.rows import Row, number_row

DRAWS = 1999
_LEAST_SIGNAL = 2.0


@dataclass(frozen=True, slots=True)
class Independence:
    """A test of independence.

    Attributes:
        p_value: of the hypothesis that the columns are independent; None where the noise hides the total.
        cramers_v: how strongly they go together, from 0 to 1, the part that noise adds taken off; None where
            it cannot be told.
        draws: how many tables were simulated.
    """

    p_value: float | None
    cramers_v: float | None
    draws: int

    def rows(self) -> tuple[Row, ...]:
        """Returns the p-value and Cramér's V."""
        how = f"{self.draws} simulated tables of independent columns, noise included"
        return (
            number_row("p-value of independence", self.p_value, how),
            number_row("Cramér's V", self.cramers_v, "a point estimate"),
        )


class _Fit(NamedTuple):
    """Tables as independent columns would have them, each of shape ``(..., rows, columns)``.

    Attributes:
        residuals: measured minus expected; unbiased also where noise made margins negative.
        expected: at least 0, and 0 where the total is.
        shares_down: of the rows, at least 0; they add up to 1.
        shares_across: of the columns.
    """

    residuals: Floats
    expected: Floats
    shares_down: Floats
    shares_across: Floats


def independence(
    sums: Floats, variance: float, shape: tuple[int, int], *, rng: np.random.Generator, draws: int = DRAWS
) -> Independence:
    """Tests whether the two axes of a table are independent (Gaboardi, Lim, Rogers and Vadhan 2016).

    The statistic is Pearson's with each cell's noise added to its variance. The p-value is its place among
    those of tables that were drawn with the fitted margins and given the same noise.

    Args:
        sums: noisy cell counts, ``rows * columns``, the second axis fastest.
        variance: of the noise of each cell.
        shape: the lengths of the axes.
        rng: seeded from public numbers, so that everybody gets the same answer.
        draws: tables to simulate.
    """
    counts = np.asarray(sums, dtype=np.float64).reshape(shape)
    total = float(counts.sum())
    if min(shape) < 2 or not total > max(1.0, _LEAST_SIGNAL * np.sqrt(variance * counts.size)):
        return Independence(None, None, 0)
    fit = _fitted(counts)
    shares = (fit.shares_down[:, None] * fit.shares_across[None, :]).ravel()
    drawn = rng.multinomial(round(total), shares, size=draws).reshape(draws, *shape)
    noisy = drawn + rng.normal(0.0, np.sqrt(variance), size=drawn.shape)
    least = _statistic(fit, variance) * (1 - 1e-9)
    above = int(np.count_nonzero(_statistic(_fitted(noisy), variance) >= least))
    return Independence((1 + above) / (1 + draws), _cramers_v(fit, variance, total), draws)


def _fitted(counts: Floats) -> _Fit:
    total = counts.sum(axis=(-2, -1))
    safe = np.maximum(total, 1.0)[..., None]
    down, across = counts.sum(axis=-1), counts.sum(axis=-2)
    residuals = counts - down[..., :, None] * across[..., None, :] / safe[..., None]
    shares_down, shares_across = _shares(down), _shares(across)
    expected = (
        np.maximum(total, 0.0)[..., None, None] * shares_down[..., :, None] * shares_across[..., None, :]
    )
    return _Fit(residuals, expected, shares_down, shares_across)


def _shares(margin: Floats) -> Floats:
    kept = np.maximum(margin, 0.0)
    whole = kept.sum(axis=-1, keepdims=True)
    found: Floats = np.divide(kept, whole, out=np.full_like(kept, 1 / kept.shape[-1]), where=whole > 0)
    return found


def _statistic(fit: _Fit, variance: float) -> Floats:
    scale = fit.expected + variance
    each = np.divide(fit.residuals**2, scale, out=np.zeros_like(scale), where=scale > 0)
    found: Floats = each.sum(axis=(-2, -1))
    return found


def _cramers_v(fit: _Fit, variance: float, total: float) -> float | None:
    """Returns V from Pearson's statistic less what the noise adds to it.

    A residual is (e_i − r_i 1)ᵀ counts (e_j − c_j 1) to first order, for shares r and c.
    """
    spread_down, spread_across = (
        (1 - shares) ** 2 + (len(shares) - 1) * shares**2 for shares in (fit.shares_down, fit.shares_across)
    )
    added = variance * spread_down[:, None] * spread_across[None, :]
    # A category that the noise hides says nothing, and would be divided by almost nothing.
    told = fit.expected > np.sqrt(variance)
    degrees = min(np.count_nonzero(told.any(axis=1)), np.count_nonzero(told.any(axis=0))) - 1
    if degrees < 1:
        return None
    pearson = float(((fit.residuals**2 - added)[told] / fit.expected[told]).sum())
    return min(1.0, float(np.sqrt(max(0.0, pearson) / (total * degrees))))
