"""Dominating pairs that are not Gaussian mixtures: Laplace noise, atoms of loss, and sampling of any pair."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from discreet.accounting.pairs import DominatingPair, Floats
from discreet.errors import ConfigurationError
from discreet.privacy.tradeoff import PiecewiseTradeoff


@dataclass(frozen=True, slots=True)
class LaplacePair:
    r"""Laplace noise of scale b around 0 against around Δ, with a = Δ/b.

    P[loss ≥ ℓ] = 1 − ½ e^{−(a−ℓ)/2} and Q[loss ≥ ℓ] = ½ e^{−(a+ℓ)/2} for −a < ℓ ≤ a: the loss is a − 2x/b
    between the centres and ±a outside.
    """

    ratio: float

    def loss_range(self, tail: float) -> tuple[float, float]:  # noqa: ARG002 - losses are bounded
        """See `DominatingPair`."""
        return -self.ratio, self.ratio

    def cell_masses(self, edges: Floats) -> tuple[Floats, Floats]:
        """See `DominatingPair`."""
        inside, a = np.clip(edges, -self.ratio, self.ratio), self.ratio
        # P[loss > edge]: everything below −a, nothing from a on.
        upper = np.where(edges < -a, 1.0, np.where(edges >= a, 0.0, 1.0 - 0.5 * np.exp(-(a - inside) / 2)))
        lower = np.where(edges < -a, 1.0, np.where(edges >= a, 0.0, 0.5 * np.exp(-(a + inside) / 2)))
        return _between(upper), _between(lower)


def _between(above: Floats) -> Floats:
    """Returns the masses of the cells that the edges cut, from the masses above each edge."""
    return np.concatenate([[1.0 - above[0]], -np.diff(above), [above[-1]]])


@dataclass(frozen=True, slots=True)
class AtomicPair:
    """Finitely many losses: P-mass ``probs``, Q-mass probs·e^−loss, and P-mass ``infinity`` that Q lacks."""

    losses: tuple[float, ...]
    probs: tuple[float, ...]
    infinity: float = 0.0

    def __post_init__(self) -> None:
        total = math.fsum(self.probs) + self.infinity
        if not (min(self.probs) >= 0.0 and self.infinity >= 0.0 and abs(total - 1.0) < 1e-9):
            raise ConfigurationError(f"loss probabilities must be >= 0 and sum to 1; got a sum of {total}.")

    def loss_range(self, tail: float) -> tuple[float, float]:  # noqa: ARG002 - losses are bounded
        """See `DominatingPair`."""
        return min(self.losses), max(self.losses)

    def cell_masses(self, edges: Floats) -> tuple[Floats, Floats]:
        """See `DominatingPair`."""
        losses, probs = np.array(self.losses), np.array(self.probs)
        cell = np.searchsorted(edges, losses, side="left")
        size = len(edges) + 1
        upper, lower = np.zeros(size), np.zeros(size)
        np.add.at(upper, cell, probs)
        np.add.at(lower, cell, probs * np.exp(-losses))
        upper[-1] += self.infinity
        return upper, lower


def discrete_laplace_pair(scale: float, shift: int) -> AtomicPair:
    """Returns the pair of discrete Laplace noise around 0 and around ``shift``.

    Between the centres the loss falls by 2/scale per integer; outside it is ±shift/scale.
    """
    decay = math.exp(-1.0 / scale)
    centre = (1.0 - decay) / (1.0 + decay)
    inner = range(1, shift)
    losses = [shift / scale, *((shift - 2 * k) / scale for k in inner), -shift / scale]
    probs = [1.0 / (1.0 + decay), *(centre * decay**k for k in inner), decay**shift / (1.0 + decay)]
    return AtomicPair(tuple(losses), tuple(probs))


def tradeoff_pair(curve: PiecewiseTradeoff) -> AtomicPair:
    r"""Returns the pair whose hockey-stick curve is the symmetric one that ``curve`` implies.

    δ is convex and piecewise linear in γ = e^ε, so the pair has one atom per kink: with slopes s before and
    after a kink at ε, the P-mass there is e^ε (s_after − s_before). Negative ε mirror positive ones:
    δ(−ε) = 1 − e^{−ε}(1 − δ(ε)).
    """
    positive = _convex_hull([(math.exp(e), d) for e, d in curve.points])
    mirrored = [(1.0 / g, 1.0 - (1.0 - d) / g) for g, d in positive if g > 1.0]
    hull = _convex_hull([(0.0, 1.0), *sorted(mirrored), *positive])
    slopes = [(d1 - d0) / (g1 - g0) for (g0, d0), (g1, d1) in pairwise(hull)] + [0.0]
    kinks = [
        (math.log(g), g * (after - before))
        for (g, _), (before, after) in zip(hull[1:], pairwise(slopes), strict=True)
    ]
    probs = [max(0.0, prob) for _, prob in kinks]
    infinity = max(0.0, 1.0 - math.fsum(probs))
    return AtomicPair(tuple(loss for loss, _ in kinks), tuple(probs), infinity)


def _convex_hull(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Returns the lower convex hull of points that ascend in their first coordinate."""
    hull: list[tuple[float, float]] = []
    for x, y in points:
        while len(hull) > 1 and (hull[-1][1] - hull[-2][1]) * (x - hull[-2][0]) >= (y - hull[-2][1]) * (
            hull[-1][0] - hull[-2][0]
        ):
            hull.pop()
        if not hull or x > hull[-1][0]:
            hull.append((x, y))
    return hull


@dataclass(frozen=True, slots=True)
class SampledPair:
    """A pair (P, Q) under Poisson sampling: ((1 − q) Q + q P, Q) if one unit is removed, reversed if added.

    Zhu, Dong, Wang (2022), Theorem 11. ``base`` is the pair of the unsampled release, unit present first.
    """

    base: DominatingPair
    prob: float
    removed: bool

    def loss_range(self, tail: float) -> tuple[float, float]:
        """See `DominatingPair`."""
        low, high = self.base.loss_range(tail)
        ends = float(np.log1p(self.prob * np.expm1(low))), float(np.log1p(self.prob * np.expm1(high)))
        return ends if self.removed else (-ends[1], -ends[0])

    def cell_masses(self, edges: Floats) -> tuple[Floats, Floats]:
        """See `DominatingPair`."""
        present, absent = self.base.cell_masses(self._base_edges(edges if self.removed else -edges[::-1]))
        mixed = (1.0 - self.prob) * absent + self.prob * present
        return (mixed, absent) if self.removed else (absent[::-1], mixed[::-1])

    def _base_edges(self, edges: Floats) -> Floats:
        """Returns the base losses ℓ at which log(1 − q + q e^ℓ) is each edge (very low where it never is)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            base = np.log1p(np.expm1(edges) / self.prob)
        return np.where(np.expm1(edges) > -self.prob, base, -1e300)
