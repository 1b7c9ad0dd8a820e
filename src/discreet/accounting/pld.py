"""Privacy loss accounting: dominating pairs, each some number of times, to one curve δ(ε)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from discreet.accounting.bounds import Pld
from discreet.accounting.compose import ComposedLoss, GridTooFine, chernoff, compose
from discreet.accounting.discretize import connect_dots
from discreet.accounting.gdp import gaussian_delta, gaussian_epsilon
from discreet.accounting.losses import LossParts
from discreet.accounting.pairs import DominatingPair, Mixture, MixturePair
from discreet.errors import UnsupportedAnalysisError

Parts = Sequence[tuple[DominatingPair, int]]

# The estimate of what discretisation adds is about three times too small where single steps matter.
_CAUTION = 0.3
# Share of δ that may be lost in truncated tails.
_TAIL_SHARE = 1e-6
_COARSE_CELLS = 1 << 12
_MOST_CELLS = 1 << 19
_MOST_WINDOW = 1 << 21
_REFINEMENTS = 6
# How much coarser the grid of the direction that matters less may be.
_COARSER = 4.0
DEFAULT = Pld()


class LossCurve(Protocol):
    """A curve δ(ε), an upper bound everywhere."""

    def delta_at(self, epsilon: float) -> float:
        """Returns an upper bound on δ(ε)."""

    def epsilon_at(self, delta: float) -> float:
        """Returns an upper bound on the smallest ε ≥ 0 at which δ suffices; infinite if there is none."""


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
        found = 0.0
        for curve in self.curves:
            # δ(ε) falls, so a curve that is below δ already does not raise ε.
            if curve.delta_at(found) > delta:
                found = curve.epsilon_at(delta)
        return found


def loss_curve(parts: LossParts, delta: float, accountant: Pld) -> LossCurve:
    """Returns a curve that bounds the composition of ``parts`` in both directions, precise around ``delta``.

    Args:
        parts: what is composed; the comparison costs in it are not charged here.
        delta: the δ of interest.
        accountant: says how fine the grid of losses is.
    """
    if not parts.directed:
        return GaussianCurve(math.sqrt(parts.square))
    forward = [(part.forward, part.count) for part in parts.directed]
    backward = [(part.backward, part.count) for part in parts.directed]
    if parts.square > 0.0:
        mu = math.sqrt(parts.square)
        whole: DominatingPair = MixturePair(Mixture((1.0,), (mu,)), Mixture((1.0,), (0.0,)))
        forward, backward = [*forward, (whole, 1)], [*backward, (whole, 1)]
    first = compose_pairs(forward, delta, accountant)
    if forward == backward:
        return first
    # A coarse grid will do for the second direction, unless it makes that look the worse one.
    second = compose_pairs(backward, delta, Pld(interval=min(1.0, _COARSER * first.interval)))
    worst = first.epsilon_at(delta)
    if math.isfinite(worst) and second.delta_at(worst) > delta:
        second = compose_pairs(backward, delta, accountant)
    return WorstCurve((first, second))


def compose_pairs(parts: Parts, delta: float, accountant: Pld = DEFAULT) -> ComposedLoss:
    """Returns the curve of the composition of ``parts``, precise around ``delta``.

    Guarantee:
        Any mechanism that adaptively composes mechanisms dominated by the pairs is (ε, δ(ε))-DP on the
        ordered pair of neighbours that the pairs stand for (Zhu, Dong, Wang 2022, Theorem 10).

    Args:
        parts: dominating pairs, each with its number of occurrences.
        delta: the δ at which precision is wanted.
        accountant: says how fine the grid of losses is.
    """
    total = sum(count for _, count in parts)
    tail = max(_TAIL_SHARE * delta / total, 1e-290)
    interval = accountant.interval or _choose_interval(parts, delta, tail, accountant.precision)
    for _ in range(_REFINEMENTS):
        discrete = [(connect_dots(pair, interval, tail), count) for pair, count in parts]
        try:
            return compose(discrete, delta)
        except GridTooFine as refusal:
            interval *= 1.25 * refusal.excess
    raise UnsupportedAnalysisError(
        "composed losses must fit a grid of 4 million points; got rare losses much larger than the typical "
        "ones. Use the RDP accountant."
    )


def _choose_interval(parts: Parts, delta: float, tail: float, precision: float) -> float:
    """Returns the grid at which discretisation costs about ``precision`` of ε.

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
        wanted = math.sqrt(12.0 * _CAUTION * precision * epsilon / ((1.0 + theta) * total))
        if wanted >= interval / 2.0:
            break
        interval /= 4.0
    floor = max(widest / _MOST_CELLS, epsilon / _MOST_WINDOW)
    return max(min(wanted, widest / 64.0), floor, 1e-12)
