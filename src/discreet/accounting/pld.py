"""Privacy loss accounting: dominating pairs, each some number of times, to one curve δ(ε)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from discreet.accounting.compose import ComposedLoss, chernoff, compose
from discreet.accounting.discretize import connect_dots
from discreet.accounting.gdp import gaussian_delta, gaussian_epsilon
from discreet.accounting.losses import LossParts
from discreet.accounting.pairs import DominatingPair, Mixture, MixturePair

Parts = Sequence[tuple[DominatingPair, int]]

# Discretisation may add this much to ε, relatively.
_PRECISION = 3e-6
# Share of δ that may be lost in truncated tails.
_TAIL_SHARE = 1e-6
_COARSE_CELLS = 1 << 12
_MOST_CELLS = 1 << 19
_MOST_WINDOW = 1 << 21
_REFINEMENTS = 6


class LossCurve(Protocol):
    """A curve δ(ε), an upper bound everywhere."""

    def delta_at(self, epsilon: float) -> float:
        """Returns an upper bound on δ(ε)."""
        ...

    def epsilon_at(self, delta: float) -> float:
        """Returns an upper bound on the smallest ε ≥ 0 at which δ suffices; infinite if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class GaussianCurve:
    """The exact curve of a μ-GDP Gaussian mechanism."""

    mu: float

    def delta_at(self, epsilon: float) -> float:
        """Returns δ(ε)."""
        return gaussian_delta(self.mu, epsilon)

    def epsilon_at(self, delta: float) -> float:
        """Returns ε(δ)."""
        return gaussian_epsilon(self.mu, delta)


@dataclass(frozen=True, slots=True)
class WorstCurve:
    """The pointwise maximum of several curves."""

    curves: tuple[LossCurve, ...]

    def delta_at(self, epsilon: float) -> float:
        """Returns δ(ε)."""
        return max(curve.delta_at(epsilon) for curve in self.curves)

    def epsilon_at(self, delta: float) -> float:
        """Returns ε(δ)."""
        return max(curve.epsilon_at(delta) for curve in self.curves)


def loss_curve(parts: LossParts, delta: float, *, interval: float | None = None) -> LossCurve:
    """Returns a curve that bounds the composition of ``parts`` in both directions, precise around ``delta``.

    Args:
        parts: what is composed; the comparison costs in it are not charged here.
        delta: the δ of interest.
        interval: grid of losses; ``None`` chooses it for a relative precision of about 1e-5 in ε.
    """
    if not parts.directed:
        return GaussianCurve(math.sqrt(parts.square))
    forward = [(part.forward, part.count) for part in parts.directed]
    backward = [(part.backward, part.count) for part in parts.directed]
    if parts.square > 0.0:
        mu = math.sqrt(parts.square)
        whole: DominatingPair = MixturePair(Mixture((1.0,), (mu,)), Mixture((1.0,), (0.0,)))
        forward, backward = [*forward, (whole, 1)], [*backward, (whole, 1)]
    first = compose_pairs(forward, delta, interval=interval)
    if forward == backward:
        return first
    # The grid of the first direction serves the second, unless that would make it look the worse one.
    second = compose_pairs(backward, delta, interval=first.interval)
    if second.epsilon_at(delta) > first.epsilon_at(delta):
        second = compose_pairs(backward, delta, interval=interval)
    return WorstCurve((first, second))


def compose_pairs(parts: Parts, delta: float, *, interval: float | None = None) -> ComposedLoss:
    """Returns the curve of the composition of ``parts``, precise around ``delta``.

    Guarantee:
        Any mechanism that adaptively composes mechanisms dominated by the pairs is (ε, δ(ε))-DP on the
        ordered pair of neighbours that the pairs stand for (Zhu, Dong, Wang 2022, Theorem 10).

    Args:
        parts: dominating pairs, each with its number of occurrences.
        delta: the δ at which precision is wanted.
        interval: grid of losses; ``None`` chooses it for a relative precision of about 1e-5 in ε.
    """
    total = sum(count for _, count in parts)
    tail = max(_TAIL_SHARE * delta / total, 1e-290)
    if interval is None:
        interval = _choose_interval(parts, delta, tail)
    discrete = [(connect_dots(pair, interval, tail), count) for pair, count in parts]
    return compose(discrete, delta)


def _choose_interval(parts: Parts, delta: float, tail: float) -> float:
    """Returns the grid at which discretisation costs about `_PRECISION` of ε.

    Connecting the dots on a grid h adds at most h²/4, on average h²/6, to the variance of each loss, hence
    T h² θ(1+θ)/12 to K(θ) and (1+θ) T h²/12 to Chernoff's ε.
    """
    total = sum(count for _, count in parts)
    ranges = [pair.loss_range(tail) for pair, _ in parts]
    widest = max(high - low for low, high in ranges)
    interval = widest / _COARSE_CELLS
    for _ in range(_REFINEMENTS):
        discrete = [(connect_dots(pair, interval, tail), count) for pair, count in parts]
        theta, epsilon = chernoff(discrete, delta)
        wanted = math.sqrt(12.0 * _PRECISION * epsilon / ((1.0 + theta) * total))
        if wanted >= interval / 2.0:
            break
        interval /= 4.0
    floor = max(widest / _MOST_CELLS, epsilon / _MOST_WINDOW)
    return max(min(wanted, widest / 64.0), floor, 1e-12)
