"""Curves δ(ε) of composed, possibly sampled Gaussian releases, in both directions of the relation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.accounting.gdp import gaussian_delta, gaussian_epsilon
from discreet.accounting.pairs import DominatingPair, Mixture, MixturePair
from discreet.accounting.pld import LossCurve, compose_pairs
from discreet.accounting.releases import Change, Unsampled, directions
from discreet.errors import UnsupportedAnalysisError

# A single sampled step with less noise than distance/_MAX_MU has ε in the hundreds; losses would overflow.
_MAX_MU = 20.0
Component = tuple[Change, float, int]


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


def gaussian_curve(
    components: Sequence[Component], delta: float, *, interval: float | None = None, tilt: float | None = None
) -> LossCurve:
    """Returns a curve that bounds the composition of ``components``, precise around ``delta``.

    Args:
        components: how neighbours differ, the Gaussian's standard deviation, and how often.
        delta: the δ of interest.
        interval: grid of losses; ``None`` chooses it.
        tilt: see `discreet.accounting.compose.compose`.

    Raises:
        UnsupportedAnalysisError: if a sampled component's noise is below 1/20 of its distance.
    """
    square = math.fsum(
        count * (change.distance / stddev) ** 2
        for change, stddev, count in components
        if isinstance(change, Unsampled)
    )
    forward: list[tuple[DominatingPair, int]] = []
    backward: list[tuple[DominatingPair, int]] = []
    for change, stddev, count in components:
        if isinstance(change, Unsampled):
            continue
        if not change.distance / stddev <= _MAX_MU:
            raise UnsupportedAnalysisError(
                f"noise must be at least 1/{_MAX_MU:.0f} of the sensitivity for a loss distribution; got "
                f"{stddev / change.distance:.3g}. Raise the noise, or use the RDP accountant."
            )
        one, other = directions(change, stddev)
        forward.append((one, count))
        backward.append((other, count))
    if not forward:
        return GaussianCurve(math.sqrt(square))
    if square > 0.0:
        whole: DominatingPair = MixturePair(Mixture((1.0,), (math.sqrt(square),)), Mixture((1.0,), (0.0,)))
        forward.append((whole, 1))
        backward.append((whole, 1))
    first = compose_pairs(forward, delta, interval=interval, tilt=tilt)
    if forward == backward:
        return first
    # The grid of the first direction serves the second, unless that would make it look the worse one.
    second = compose_pairs(backward, delta, interval=first.interval, tilt=tilt)
    if second.epsilon_at(delta) > first.epsilon_at(delta):
        second = compose_pairs(backward, delta, interval=interval, tilt=tilt)
    return WorstCurve((first, second))
