"""Dominating pairs that are not Gaussian mixtures: Laplace noise, atoms of loss, and sampling of any pair."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.accounting.pairs import DominatingPair
from discreet.arrays import Floats
from discreet.errors import ConfigurationError


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
