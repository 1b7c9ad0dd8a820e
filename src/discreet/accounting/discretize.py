"""One dominating pair on a uniform grid of losses: a pessimistic discrete law by connecting the dots."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.accounting.pairs import DominatingPair
from discreet.arrays import Floats


@dataclass(frozen=True, slots=True)
class DiscreteLoss:
    """A law of losses on the grid ``interval``·{first, first+1, …}, plus an atom at +∞.

    Attributes:
        interval: distance of neighbouring losses.
        first: index of the lowest loss.
        probs: probability of each loss, shape ``(size,)``.
        infinity: probability of an infinite loss.
    """

    interval: float
    first: int
    probs: Floats
    infinity: float

    @property
    def losses(self) -> Floats:
        """The losses, shape ``(size,)``."""
        return grid(self.interval, self.first, len(self.probs))


def grid(interval: float, first: int, size: int) -> Floats:
    """Returns ``interval``·{first, …, first + size − 1}; contains 0.0 exactly where the index is 0."""
    return np.asarray(np.arange(first, first + size, dtype=np.float64) * interval)


def connect_dots(pair: DominatingPair, interval: float, tail: float) -> DiscreteLoss:
    r"""Returns a discrete loss law whose hockey-stick curve lies on or above that of ``pair``.

    Guarantee:
        A cell with P-mass a and Q-mass b is split onto its two edges so that both masses are preserved; the
        curve in e^ε is then exact at grid points and a chord between them, hence never below the convex
        truth. Doroshenko, Ghazi, Kamath, Kumar, Manurangsi (2022), Section 3. Losses below the grid are
        raised to its lowest point, losses above become infinite; either way δ only grows.

    Args:
        pair: the dominating pair.
        interval: distance of the grid.
        tail: probability that may be moved at either end.
    """
    low, high = pair.loss_range(tail)
    first, last = math.floor(low / interval), max(math.ceil(high / interval), math.floor(low / interval) + 1)
    edges = grid(interval, first, last + 1 - first)
    upper, lower = pair.cell_masses(edges)
    inner, excess = upper[1:-1], upper[1:-1] - lower[1:-1] * np.exp(edges[:-1])
    to_right = np.clip(excess / -math.expm1(-interval), 0.0, inner)
    probs = np.zeros(len(edges))
    probs[1:] += to_right
    probs[:-1] += inner - to_right
    probs[0] += upper[0]
    return DiscreteLoss(interval, first, probs, float(upper[-1]))
