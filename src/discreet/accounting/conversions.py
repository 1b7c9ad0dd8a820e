r"""From one form of privacy to another, only in the directions that are sound.

Pure DP → zCDP → RDP → (ε, δ) → trade-off; tCDP → RDP; GDP → zCDP, (ε, δ), trade-off. There is no way back: a
single (ε, δ) statement says nothing about Rényi divergence, and the central-limit "GDP" of a sampled
mechanism is an approximation that may be several times too small, so it is not offered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreet.accounting.bounds import DEFAULT_ORDERS, Conversion
from discreet.accounting.pld import LossCurve
from discreet.accounting.rdp import RdpCurve, zcdp_rdp
from discreet.errors import ConfigurationError
from discreet.privacy.tradeoff import PiecewiseTradeoff


def pure_to_zcdp(epsilon: float) -> float:
    """Returns the ρ = ε²/2 of an ε-DP mechanism (Bun, Steinke 2016, Proposition 1.4)."""
    if not epsilon >= 0.0:
        raise ConfigurationError(f"epsilon must be >= 0; got {epsilon}.")
    return epsilon**2 / 2.0


def gdp_to_zcdp(mu: float) -> float:
    """Returns the ρ = μ²/2 of a μ-GDP mechanism: it is a post-processing of N(0, 1) against N(μ, 1)."""
    if not mu >= 0.0:
        raise ConfigurationError(f"mu must be >= 0; got {mu}.")
    return mu**2 / 2.0


def zcdp_to_rdp(rho: float, orders: Sequence[float] = DEFAULT_ORDERS) -> RdpCurve:
    """Returns the Rényi curve ε_α = ρα of ρ-zCDP (Bun, Steinke 2016, Definition 1.1)."""
    alpha = np.array(orders, dtype=np.float64)
    return RdpCurve(alpha, zcdp_rdp(alpha, rho), Conversion.IMPROVED)


def tcdp_to_rdp(rho: float, omega: float, orders: Sequence[float] = DEFAULT_ORDERS) -> RdpCurve:
    """Returns ε_α = ρα for α < ω, nothing beyond (Bun, Dwork, Rothblum, Steinke 2018, Definition 1.3)."""
    if not omega > 1.0:
        raise ConfigurationError(f"omega must be above 1; got {omega}.")
    alpha = np.array(orders, dtype=np.float64)
    return RdpCurve(alpha, np.where(alpha < omega, zcdp_rdp(alpha, rho), np.inf), Conversion.IMPROVED)


def zcdp_epsilon(rho: float, delta: float) -> float:
    r"""Returns the ε of ρ-zCDP at δ through the best of all orders (Canonne, Kamath, Steinke 2020).

    Example:
        >>> round(zcdp_epsilon(0.5, 1e-5), 3)
        4.728
    """
    if not rho >= 0.0:
        raise ConfigurationError(f"rho must be >= 0; got {rho}.")
    if not 0.0 < delta < 1.0:
        raise ConfigurationError(f"delta must be in (0, 1); got {delta}.")
    if rho == 0.0:
        return 0.0
    # Mironov's conversion is minimal at α − 1 = √(log(1/δ)/ρ); the better one is minimal not far from there.
    centre = math.sqrt(-math.log(delta) / rho)
    orders = 1.0 + centre * np.geomspace(0.2, 5.0, 2001)
    return zcdp_to_rdp(rho, tuple(orders)).epsilon_at(delta)


def to_tradeoff(curve: LossCurve, epsilons: Sequence[float]) -> PiecewiseTradeoff:
    """Returns the trade-off curve that a δ(ε) curve implies through the given ε ≥ 0, ascending."""
    points, lowest = [], 1.0
    for epsilon in epsilons:
        lowest = min(lowest, curve.delta_at(epsilon))
        points.append((float(epsilon), lowest))
    return PiecewiseTradeoff(tuple(points))
