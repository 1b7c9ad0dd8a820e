r"""Dominating pairs: two laws on the real line that are at least as easy to tell apart as any two neighbours.

(P, Q) dominates a mechanism when H_γ(M(D)‖M(D')) ≤ H_γ(P‖Q) for all neighbours and all γ ≥ 0, with H_γ the
hockey-stick divergence; domination survives adaptive composition (Zhu, Dong, Wang 2022, Theorem 10).

Gaussian mixtures. Let the noise be N(0, 1) and let neighbours shift its mean by a random vector: with
probability p_k by some a_k of norm at most c_k on one data set, with probability p'_k by some b_k of norm at
most c'_k on the other. For any set S whose noise-only probability is s, the Neyman-Pearson lemma gives
N(a)(S) ≤ Φ(Φ⁻¹(s) + ‖a‖) and N(b)(S) ≥ Φ(Φ⁻¹(s) − ‖b‖), and half-lines attain both at once. Hence
Σ p_k N(c_k, 1) against Σ p'_k N(−c'_k, 1) dominates, in any dimension and for every γ ≥ 0. Poisson sampling
under add, remove and replacement, group privacy and fused steps are all of this form (docs/theory/pairs.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import ndtr, ndtri

from discreet.arrays import Floats
from discreet.errors import ConfigurationError

_REACH = 40.0
_TABLE = 8193
_NEWTON_STEPS = 4


class DominatingPair(Protocol):
    """The interface of a pair to the discretisation; the loss is log P/Q under P."""

    def loss_range(self, tail: float) -> tuple[float, float]:
        """Returns losses that P leaves, downward and upward, with probability at most ``tail`` each."""

    def cell_masses(self, edges: Floats) -> tuple[Floats, Floats]:
        """Returns P- and Q-probability that the loss is in each (edges[i], edges[i+1]].

        Two open cells are put around: shape ``(len(edges) + 1,)``, first below ``edges[0]``, last above.
        """


@dataclass(frozen=True, slots=True)
class Mixture:
    """A finite mixture of N(mean, 1) on the line."""

    weights: tuple[float, ...]
    means: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.means) or not self.weights:
            raise ConfigurationError("a mixture needs as many weights as means, and at least one.")
        if not all(weight >= 0.0 for weight in self.weights) or not abs(math.fsum(self.weights) - 1.0) < 1e-9:
            raise ConfigurationError(f"mixture weights must be >= 0 and sum to 1; got {self.weights[:4]}.")
        if not all(math.isfinite(mean) for mean in self.means):
            raise ConfigurationError(f"mixture means must be finite; got {self.means[:4]}.")

    def log_density(self, x: Floats) -> Floats:
        """Returns the log density relative to N(0, 1) at each ``x``."""
        logs = self._components(x)
        if len(logs) == 1:
            return np.asarray(logs[0])
        peak = logs.max(axis=0)
        return np.asarray(np.log(np.exp(logs - peak).sum(axis=0)) + peak)

    def posterior_mean(self, x: Floats) -> Floats:
        """Returns the mean of the component that ``x`` came from: the slope of the log density."""
        logs = self._components(x)
        shares = np.exp(logs - logs.max(axis=0))
        means = [mean for weight, mean in zip(self.weights, self.means, strict=True) if weight > 0.0]
        return np.asarray(np.array(means) @ shares / shares.sum(axis=0))

    def _components(self, x: Floats) -> Floats:
        """Returns the log of each component's share, relative to N(0, 1), shape ``(components, n)``."""
        parts = [(w, m) for w, m in zip(self.weights, self.means, strict=True) if w > 0.0]
        return np.stack([np.log(w) + m * x - m * m / 2 for w, m in parts])

    def tails(self, x: Floats) -> tuple[Floats, Floats]:
        """Returns the probabilities of (−∞, x] and of (x, ∞), each accurate where it is small."""
        below = np.zeros_like(x)
        above = np.zeros_like(x)
        for weight, mean in zip(self.weights, self.means, strict=True):
            below += weight * ndtr(x - mean)
            above += weight * ndtr(mean - x)
        return below, above


def cells(below: Floats, above: Floats) -> Floats:
    """Returns the probabilities between consecutive thresholds, from whichever tail is the smaller."""
    inner = np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))
    return np.concatenate([below[:1], np.maximum(inner, 0.0), above[-1:]])


def _loss(upper: Mixture, lower: Mixture, x: Floats) -> Floats:
    """Returns log P/Q at ``x``."""
    return upper.log_density(x) - lower.log_density(x)


def _loss_range(upper: Mixture, lower: Mixture, tail: float) -> tuple[float, float]:
    """Returns the losses at the points beyond which P has probability at most ``tail``."""
    reach = -float(ndtri(tail))
    ends = np.array([min(upper.means) - reach, max(upper.means) + reach])
    low, high = _loss(upper, lower, ends)
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class MixturePair:
    """P = Σ w_k N(m_k ≥ 0, 1) against Q = Σ v_k N(n_k ≤ 0, 1): the loss increases in x.

    The posterior mean of a shift under P is ≥ 0 and under Q ≤ 0, and the loss's derivative is their
    difference; so the loss is monotone and its level sets are half-lines.
    """

    upper: Mixture
    lower: Mixture

    def __post_init__(self) -> None:
        if min(self.upper.means) < 0.0 or max(self.lower.means) > 0.0:
            raise ConfigurationError("a mixture pair needs upper means >= 0 and lower means <= 0.")

    def loss_range(self, tail: float) -> tuple[float, float]:
        """See `DominatingPair`."""
        return _loss_range(self.upper, self.lower, tail)

    def cell_masses(self, edges: Floats) -> tuple[Floats, Floats]:
        """See `DominatingPair`; the thresholds are bracketed by a table and found by Newton's method."""
        table = np.linspace(min(self.lower.means) - _REACH, max(self.upper.means) + _REACH, _TABLE)
        losses = _loss(self.upper, self.lower, table)
        right = np.clip(np.searchsorted(losses, edges), 1, _TABLE - 1)
        low, high = table[right - 1], table[right]
        x = np.interp(edges, losses, table)
        for _ in range(_NEWTON_STEPS):
            value = _loss(self.upper, self.lower, x)
            slope = self.upper.posterior_mean(x) - self.lower.posterior_mean(x)
            x = np.clip(x - (value - edges) / np.maximum(slope, 1e-300), low, high)
        x = np.where(edges <= losses[0], -np.inf, np.where(edges >= losses[-1], np.inf, x))
        return cells(*self.upper.tails(x)), cells(*self.lower.tails(x))


@dataclass(frozen=True, slots=True)
class SampledGaussianPair:
    """P = (1−p) N(0, 1) + p N(μ, 1) against Q = (1−r) N(0, 1) + r N(−μ, 1).

    With sampling probability q: (p, r) = (q, 0) dominates removing a unit, (0, q) adding one, (q, q)
    replacing a sampled contribution. The thresholds have a closed form.
    """

    mu: float
    upper_prob: float
    lower_prob: float

    @property
    def upper(self) -> Mixture:
        """The law P."""
        return Mixture((1.0 - self.upper_prob, self.upper_prob), (0.0, self.mu))

    @property
    def lower(self) -> Mixture:
        """The law Q."""
        return Mixture((1.0 - self.lower_prob, self.lower_prob), (0.0, -self.mu))

    def loss_range(self, tail: float) -> tuple[float, float]:
        """See `DominatingPair`."""
        return _loss_range(self.upper, self.lower, tail)

    def cell_masses(self, edges: Floats) -> tuple[Floats, Floats]:
        """See `DominatingPair`."""
        x = self.threshold(edges)
        return cells(*self.upper.tails(x)), cells(*self.lower.tails(x))

    def threshold(self, losses: Floats) -> Floats:
        r"""Returns the x at which the loss is each of ``losses`` (±∞ where it never is).

        With z = exp(μx − μ²/2) and ℓ the loss: p z² + b z − r e^{ℓ−μ²} = 0, b = (1−p) − (1−r) e^ℓ.
        """
        p, r = self.upper_prob, self.lower_prob
        b = -(1.0 - r) * np.expm1(losses) + (r - p)
        product = r * np.exp(losses - self.mu**2)
        root = np.hypot(b, 2.0 * np.sqrt(p * product))
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(b < 0.0, (root - b) / (2.0 * p), 2.0 * product / (root + b))
            x = np.log(z) / self.mu + self.mu / 2.0
        never_below = (r == 0.0) & (b >= 0.0)
        never_above = (p == 0.0) & (b <= 0.0)
        return np.where(never_below, -np.inf, np.where(never_above, np.inf, x))


@dataclass(frozen=True, slots=True)
class FixedSizePair:
    """The pair of C_q(G_μ): ``q`` = sample size ÷ population, without replacement, one unit replaced.

    Sampling without replacement turns H_γ of the mechanism into at most q·H_{1+(γ−1)/q} for γ ≥ 1 (Balle,
    Barthe, Gaboardi 2018, Theorem 11) and, replacement being symmetric, 1 − γ + γ H_{1/γ} for γ < 1: the
    operator C_q of Dong, Roth, Su (2022), Theorem 4. Its positive losses are those of removing a unit under
    Poisson sampling, its negative ones those of adding one, the rest has loss 0.
    """

    mu: float
    prob: float

    def loss_range(self, tail: float) -> tuple[float, float]:
        """See `DominatingPair`."""
        _, high = SampledGaussianPair(self.mu, self.prob, 0.0).loss_range(tail)
        return -high, high

    def cell_masses(self, edges: Floats) -> tuple[Floats, Floats]:
        """See `DominatingPair`; one of the edges must be 0."""
        zero = int(np.searchsorted(edges, 0.0))
        if not (zero < len(edges) and edges[zero] == 0.0):
            raise ConfigurationError("the grid of losses must contain 0 for fixed-size sampling.")
        removed = SampledGaussianPair(self.mu, self.prob, 0.0).cell_masses(edges)
        added = SampledGaussianPair(self.mu, 0.0, self.prob).cell_masses(edges)
        upper, lower = (
            np.concatenate([below[: zero + 1], above[zero + 1 :]])
            for above, below in zip(removed, added, strict=True)
        )
        upper[zero] += max(0.0, 1.0 - upper.sum())
        lower[zero] += max(0.0, 1.0 - lower.sum())
        return upper, lower
