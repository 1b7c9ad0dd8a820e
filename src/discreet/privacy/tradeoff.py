r"""Trade-off curves as values: what the best attacker can reach, in every form that readers ask for.

A curve f gives, for every false positive rate α of an attacker who guesses whether a unit took part, the
least false negative rate that is possible (Dong, Roth, Su 2022, Definition 2). All curves here are lower
bounds on f, hence upper bounds on attacks, and hold for both directions of the neighbouring relation.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

from scipy.special import log_ndtr, ndtr, ndtri

from discreet.errors import ConfigurationError


class TradeoffCurve(ABC):
    """A lower bound on the false negative rate at every false positive rate."""

    @abstractmethod
    def false_negative_rate(self, false_positive_rate: float) -> float:
        """Returns f(α)."""

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """Returns δ(ε) for ε ≥ 0."""

    @property
    def advantage(self) -> float:
        """The largest TPR − FPR of any attacker: δ(0), the total variation."""
        return self.delta(0.0)

    def max_true_positive_rate(self, false_positive_rate: float) -> float:
        """Returns 1 − f(α): how many members an attacker finds who wrongly accuses a share α."""
        return 1.0 - self.false_negative_rate(false_positive_rate)


@final
@dataclass(frozen=True, slots=True)
class GaussianTradeoff(TradeoffCurve):
    """G_μ, the curve of telling N(0, 1) from N(μ, 1) (Dong, Roth, Su 2022)."""

    mu: float

    def __post_init__(self) -> None:
        if not (self.mu >= 0.0 and math.isfinite(self.mu)):
            raise ConfigurationError(f"The 'mu' parameter of GaussianTradeoff must be >= 0; got {self.mu}.")

    def false_negative_rate(self, false_positive_rate: float) -> float:
        """Returns G_μ(α) = Φ(Φ⁻¹(1 − α) − μ)."""
        _require_rate(false_positive_rate)
        return float(ndtr(-ndtri(false_positive_rate) - self.mu))

    def delta(self, epsilon: float) -> float:
        """Returns δ(ε) = Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2)."""
        if self.mu == 0.0:
            return 0.0
        upper = float(log_ndtr(-epsilon / self.mu + self.mu / 2.0))
        lower = float(log_ndtr(-epsilon / self.mu - self.mu / 2.0)) + epsilon
        return -math.exp(upper) * math.expm1(min(0.0, lower - upper))


@final
@dataclass(frozen=True, slots=True)
class PiecewiseTradeoff(TradeoffCurve):
    """The curve that finitely many (ε, δ) statements imply together.

    f(α) = max over the points of max{0, 1 − δ − e^ε α, e^{−ε}(1 − δ − α)}: Wasserman, Zhou (2010), Theorem
    2.4; Dong, Roth, Su (2022), Proposition 3.

    Attributes:
        points: (ε, δ) with ε ≥ 0 ascending and δ falling.
    """

    points: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        if not self.points or not all(
            epsilon >= 0.0 and 0.0 <= delta <= 1.0 for epsilon, delta in self.points
        ):
            raise ConfigurationError(
                "The 'points' parameter of PiecewiseTradeoff must be (epsilon >= 0, delta in [0, 1]) pairs; "
                f"got {self.points[:2]}."
            )
        if any(after[0] < before[0] for before, after in zip(self.points, self.points[1:], strict=False)):
            raise ConfigurationError("The 'points' parameter of PiecewiseTradeoff must ascend in epsilon.")

    def false_negative_rate(self, false_positive_rate: float) -> float:
        """Returns f(α)."""
        _require_rate(false_positive_rate)
        return max(_line(epsilon, delta, false_positive_rate) for epsilon, delta in self.points)

    def delta(self, epsilon: float) -> float:
        """Returns the δ(ε) that the points imply: linear in e^ε between them, constant beyond the last."""
        before = [point for point in self.points if point[0] <= epsilon]
        after = [point for point in self.points if point[0] > epsilon]
        if not before:
            # The chord from (ε₁, δ₁) to its mirror image (−ε₁, 1 − e^{−ε₁}(1 − δ₁)), δ being convex in e^ε.
            first_epsilon, first_delta = after[0]
            share = (math.exp(first_epsilon) - math.exp(epsilon)) / (math.exp(first_epsilon) + 1.0)
            return min(1.0, first_delta + share * (1.0 - first_delta))
        if not after:
            return before[-1][1]
        (low, low_delta), (high, high_delta) = before[-1], after[0]
        share = math.expm1(epsilon - low) / math.expm1(high - low)
        return low_delta + share * (high_delta - low_delta)


def _line(epsilon: float, delta: float, alpha: float) -> float:
    return max(0.0, 1.0 - delta - math.exp(epsilon) * alpha, math.exp(-epsilon) * (1.0 - delta - alpha))


def _require_rate(rate: float) -> None:
    if not 0.0 <= rate <= 1.0:
        raise ConfigurationError(f"false_positive_rate must be in [0, 1]; got {rate}.")
