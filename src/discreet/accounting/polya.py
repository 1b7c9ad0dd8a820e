r"""Shares of discrete Laplace noise: pure differential privacy for integer changes of a bounded L1 norm.

Let X be a difference of two negative binomials of shape r and p, P its law. If r ≥ 1 it is discrete Laplace
noise of scale b = 1/ln(1/p), and more that is independent: an integer that moves by s costs s/b. If r < 1 a
negative binomial is a mixture of geometrics, hence P is completely monotone on k ≥ 0, and P(k)/P(k + 1) falls
in k: nothing costs more than P(0)/P(1) for each unit (docs/theory/integers.md, section 7).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.accounting.releases import Unsampled, change
from discreet.arrays import Floats
from discreet.errors import ConfigurationError, UnsupportedAnalysisError
from discreet.privacy.events import PolyaNoise, Release
from discreet.privacy.units import NeighboringRelation

# A squared length that float64 works out may be below the integer that it stands for.
_ROUNDING = 1e-9


def pure_epsilon(release: Release, neighboring: NeighboringRelation) -> float:
    """Returns the ε of one release with `PolyaNoise`, at δ = 0.

    An integer vector of length l has an L1 norm of at most l², since no integer is larger than its square.

    Raises:
        UnsupportedAnalysisError: if units are sampled, or the noise is of another law.
    """
    noise, kind = release.noise, change(release, neighboring)
    if not isinstance(noise, PolyaNoise) or not isinstance(kind, Unsampled):
        raise UnsupportedAnalysisError(
            "discrete Laplace noise must be on sums in which every unit takes part; this one samples. Use "
            "sampling none, or Gaussian noise."
        )
    contributions = kind.distance / release.l2_sensitivity
    moved = math.floor(release.l2_sensitivity**2 * (1.0 + _ROUNDING))
    return contributions * moved * unit_loss(noise)


def unit_loss(noise: PolyaNoise) -> float:
    """Returns the most that one unit of one coordinate costs: 1/scale, or ln P(0)/P(1) of an incomplete sum.

    Example:
        >>> unit_loss(PolyaNoise(2.0, whole=3, num_silos=3)), unit_loss(PolyaNoise(2.0, 3, 1)) > 0.5
        (0.5, True)
    """
    if noise.num_silos >= noise.whole:
        return 1.0 / noise.scale
    decay, shape = math.exp(-1.0 / noise.scale), noise.num_silos / noise.whole
    # With c_j = Γ(j + r)/(Γ(r) j!): P(0) ∝ Σ c_j² p^2j and P(1) ∝ Σ c_j c_{j+1} p^(2j+1). All terms are
    # positive and c falls, so a cut sum is too small, and by less than a geometric series of the last term.
    count = math.ceil(20.0 * noise.scale) + 8
    places = np.arange(count)
    weights = np.cumprod(np.concatenate([[1.0], (places[:-1] + shape) / (places[:-1] + 1.0) * decay]))
    square = float(weights @ weights)
    square += float(weights[-1] ** 2) * decay**2 / -math.expm1(-2.0 / noise.scale)
    return math.log(square / float(weights[1:] @ weights[:-1])) * (1.0 + _ROUNDING)


@dataclass(frozen=True, slots=True)
class AtomicPair:
    """Finitely many losses: P-mass ``probs``, and Q-mass probs·e^−loss."""

    losses: tuple[float, ...]
    probs: tuple[float, ...]

    def __post_init__(self) -> None:
        total = math.fsum(self.probs)
        if not (min(self.probs) >= 0.0 and abs(total - 1.0) < 1e-9):
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
        return upper, lower


def response_pair(epsilon: float) -> AtomicPair:
    """Returns the pair that dominates whatever is ε-DP: randomised response.

    Kairouz, Oh, Viswanath (2015), Theorem 3.4.
    """
    told = 1.0 / (1.0 + math.exp(-epsilon))
    return AtomicPair((epsilon, -epsilon), (told, 1.0 - told))


def response_rdp(orders: Floats, epsilon: float) -> Floats:
    """Returns ε_α of randomised response, which bounds that of whatever is ε-DP (by `response_pair`)."""
    log_told = -math.log1p(math.exp(-epsilon))
    log_lied = log_told - epsilon
    divergence: Floats = np.logaddexp(
        orders * log_told + (1.0 - orders) * log_lied, orders * log_lied + (1.0 - orders) * log_told
    ) / (orders - 1.0)
    return np.minimum(divergence, epsilon)
