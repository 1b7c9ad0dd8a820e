"""Rényi curves of tallied releases, for real and integer noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.accounting.bounds import Rdp
from discreet.accounting.coupling import gaussian_view, usable_silos
from discreet.accounting.lattice import discrete_sum_ratio
from discreet.accounting.losses import inclusion_mixtures
from discreet.accounting.poisson_binomial import poisson_binomial_rdp
from discreet.accounting.polya import pure_epsilon, response_rdp
from discreet.accounting.rdp import RdpCurve, gaussian_rdp
from discreet.accounting.rdp_sampling import fixed_size_rdp, mixture_rdp, poisson_gaussian_rdp, poisson_rdp
from discreet.accounting.releases import Change, FixedSizeReplaced, Included, Unsampled, change
from discreet.accounting.skellam_exact import MAX_SHIFT, MAX_VARIANCE, skellam_rdp_per_square
from discreet.accounting.tally import Atom
from discreet.arrays import Floats
from discreet.errors import UnsupportedAnalysisError
from discreet.privacy.events import (
    DiscreteGaussianNoise,
    PoissonBinomialRelease,
    PolyaNoise,
    Release,
    SkellamNoise,
)
from discreet.privacy.units import NeighboringRelation

# The quadrature for mixtures takes about 4αμ² nodes.
_MAX_ORDER = 256.0
_MAX_NODES = 5e4


@dataclass(frozen=True, slots=True)
class RenyiAnalysis:
    """A Rényi curve for laws that the real ones resemble up to e^±``log_ratio``."""

    curve: RdpCurve
    log_ratio: float


def renyi_analysis(
    releases: Sequence[tuple[Atom, int]], neighboring: NeighboringRelation, accountant: Rdp
) -> RenyiAnalysis:
    """Returns the composed Rényi curve of ``releases``.

    Raises:
        UnsupportedAnalysisError: where no Rényi analysis of the combination is known.
    """
    orders = np.array(sorted(set(accountant.orders)))
    total, log_ratio = np.zeros(len(orders)), 0.0
    for atom, count in releases:
        values, cost = _atom_rdp(atom, count, neighboring, orders)
        total += count * values
        log_ratio += cost
    if not np.isfinite(total).any():
        raise UnsupportedAnalysisError(
            "the Rényi analysis of these events must have at least one usable order; got none among "
            f"{len(orders)} orders. Add integer orders, or use the PLD accountant."
        )
    return RenyiAnalysis(RdpCurve(orders, total, accountant.conversion), log_ratio)


def _atom_rdp(
    atom: Atom, count: int, neighboring: NeighboringRelation, orders: Floats
) -> tuple[Floats, float]:
    """Returns ε_α of one release and the log ratio that all ``count`` of them cost together."""
    match atom:
        case Release(noise=PolyaNoise()):
            return response_rdp(orders, pure_epsilon(atom, neighboring)), 0.0
        case Release():
            return _release_rdp(atom, count, change(atom, neighboring), orders)
        case PoissonBinomialRelease():
            return poisson_binomial_rdp(atom, neighboring, orders), 0.0


def _release_rdp(release: Release, count: int, kind: Change, orders: Floats) -> tuple[Floats, float]:
    """Returns ε_α of one release and the log ratio that all ``count`` of them cost together."""
    draws = release.dimension * count
    match release.noise:
        case SkellamNoise():
            moment = skellam_log_moment(release.noise.variance, kind.distance, release.dimension)
            return _integer_rdp(kind, moment, orders), 0.0
        case DiscreteGaussianNoise(silo_stddev=stddev, num_silos=silos):
            # N_Z(0, v) obeys the Gaussian's Rényi bound for integer shifts: Canonne, Kamath, Steinke (2020),
            # Theorem 4.
            used, cost = usable_silos(discrete_sum_ratio(stddev**2, silos), draws, silos)
            square = kind.distance**2 / (used * stddev**2)
            return _integer_rdp(kind, lambda k: k * (k - 1.0) * (square / 2.0), orders), cost
        case noise:
            view = gaussian_view(noise, draws, 0.0)
            if view is None:
                raise UnsupportedAnalysisError(f"no Rényi analysis of {type(noise).__name__} is known here.")
            return _gaussian_kind_rdp(kind, view.stddev, orders), view.log_ratio


def _gaussian_kind_rdp(kind: Change, stddev: float, orders: Floats) -> Floats:
    """Returns ε_α for real Gaussian noise."""
    mu = kind.distance / stddev
    match kind:
        case Unsampled():
            return gaussian_rdp(orders, mu)
        case Included(prob=prob, trials=1, replaced=False):
            return poisson_gaussian_rdp(orders, mu, prob)
        case Included():
            # Where quadrature would be long, the bound for taking part surely serves (quasi-convexity).
            values = gaussian_rdp(orders, kind.trials * mu * (2.0 if kind.replaced else 1.0))
            usable = (orders <= _MAX_ORDER) & (orders * (kind.trials * mu) ** 2 <= _MAX_NODES)
            one, other = inclusion_mixtures(kind, mu)
            forward = mixture_rdp(orders[usable], one, other)
            backward = forward if kind.replaced else mixture_rdp(orders[usable], other, one)
            values[usable] = np.maximum(forward, backward)
            return values
        case FixedSizeReplaced(prob=prob):
            return fixed_size_rdp(orders, prob, lambda k: k * (k - 1.0) * (mu * mu / 2.0))


def _integer_rdp(kind: Change, moment: Callable[[Floats], Floats], orders: Floats) -> Floats:
    """Returns ε_α at integer orders from (k − 1) ε_k of the unsampled release."""
    match kind:
        case Unsampled():
            return poisson_rdp(orders, 1.0, moment)
        case Included(prob=prob, trials=1, replaced=False):
            return poisson_rdp(orders, prob, moment)
        case FixedSizeReplaced(prob=prob):
            return fixed_size_rdp(orders, prob, moment)
        case Included():
            raise UnsupportedAnalysisError(
                "sampled replacement or several inclusions with integer noise must go through the loss "
                "distribution; got a grid too coarse for it. Raise the scale."
            )


def skellam_log_moment(variance: float, distance: float, dimension: int) -> Callable[[Floats], Floats]:
    r"""Returns k ↦ (k − 1) ε_k for Skellam noise and integer shifts of L2 norm ``distance``.

    Agarwal, Kairouz, Liu (2021), Theorem 3.5: ε_α ≤ αΔ₂²/(2μ) + min{((2α−1)Δ₂² + 6Δ₁)/(4μ²), 3Δ₁/(2μ)},
    with Δ₁ ≤ min(√d Δ₂, Δ₂²) for integer vectors. On very coarse grids the exact divergence is used where
    it is smaller.
    """
    square = distance**2
    l1 = min(math.sqrt(dimension) * distance, square)

    def moment(k: Floats) -> Floats:
        extra = np.minimum(
            ((2.0 * k - 1.0) * square + 6.0 * l1) / (4.0 * variance**2), 3.0 * l1 / (2.0 * variance)
        )
        bound = k * square / (2.0 * variance) + extra
        shift = math.floor(distance)
        if 1 <= shift <= MAX_SHIFT and variance <= MAX_VARIANCE:
            exact = square * skellam_rdp_per_square(variance, shift)
            known = min(len(bound), len(exact))
            bound[2:known] = np.minimum(bound[2:known], exact[2:known])
        return (k - 1.0) * bound

    return moment
