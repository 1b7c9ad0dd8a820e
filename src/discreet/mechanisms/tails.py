r"""How far one coordinate of a noise sum can stray, for the ring: proven Chernoff bounds.

For every law the moment generating function of the sum is known or bounded, so that
P[S > B] ≤ inf_t E[e^{tS}]·e^{−tB}; the laws are symmetric, hence the factor 2.
"""

from __future__ import annotations

import math
from typing import assert_never

from discreet.errors import ConfigurationError
from discreet.privacy.events import (
    DiscreteGaussianNoise,
    IntegerNoise,
    PolyaNoise,
    RoundedGaussianNoise,
    SkellamNoise,
)


def sample_tail_bound(law: IntegerNoise, prob: float) -> float:
    r"""Bounds one coordinate of the sum: it exceeds the result in magnitude with probability ≤ ``prob``.

    Guarantee:
        - rounded Gaussian: Poisson summation gives E[e^{tX}] = e^{σ²t²/2}·(sinh(t/2)/(t/2))·(1 + ρ) with
          |ρ| ≤ 2Σ_{m≥1} e^{−2π²m²σ²}, and sinh(x)/x ≤ e^{x²/6}: sub-Gaussian with variance σ² + 1/12.
        - discrete Gaussian: E[e^{tX}] = e^{σ²t²/2}·Σ_k e^{−(k−σ²t)²/2σ²}/Σ_k e^{−k²/2σ²}, and a shifted sum
          is at most the centred one (Poisson summation): sub-Gaussian with σ².
        - Skellam: E[e^{tX}] = e^{μ(cosh t − 1)} at the optimal t = asinh(B/μ).
        - Pólya: E[e^{tX}] = ((1 − p)²/((1 − pe^t)(1 − pe^{−t})))^r at the best of some t below 1/scale.

    Args:
        law: whose ``num_silos`` shares are summed.
        prob: failure probability for one coordinate, in (0, 1).

    Returns:
        The bound in grid units.

    Raises:
        ConfigurationError: if ``prob`` is outside (0, 1).

    Example:
        >>> round(sample_tail_bound(DiscreteGaussianNoise(10.0, num_silos=4), 1e-9), 1)
        130.9
    """
    if not 0.0 < prob < 1.0:
        raise ConfigurationError(f"prob must be in (0, 1); got {prob}.")
    log_odds = math.log(2.0) - math.log(prob)
    match law:
        case RoundedGaussianNoise():
            excess = law.num_silos * math.log1p(_poisson_remainder(law.silo_stddev))
            return math.sqrt(2.0 * law.variance * (log_odds + excess))
        case DiscreteGaussianNoise():
            return math.sqrt(2.0 * law.variance * log_odds)
        case SkellamNoise():
            return _skellam_tail(law.variance, log_odds)
        case PolyaNoise():
            return _polya_tail(law, log_odds)
        case _:
            assert_never(law)


def skellam_exponent(ratio: float) -> float:
    r"""f(x) = √(1+x²) − 1 − x·asinh(x) for x ≥ 0: Skellam tails are e^{μ f(B/μ)}; stable for small x."""
    if ratio < 1e-3:
        square = ratio * ratio
        return -0.5 * square * (1.0 - square / 12.0)
    return math.sqrt(1.0 + ratio * ratio) - 1.0 - ratio * math.asinh(ratio)


def _poisson_remainder(stddev: float) -> float:
    """2Σ_{m≥1} e^{−2π²m²σ²}, the terms beyond the domain's smallest σ being negligible after ten."""
    return 2.0 * sum(math.exp(-2.0 * (math.pi * m * stddev) ** 2) for m in range(1, 11))


def _skellam_tail(variance: float, log_odds: float) -> float:
    """Smallest B (to 1e-9 relative, from above) with μ f(B/μ) ≤ −log_odds, by bisection."""
    low, high = 0.0, math.sqrt(2.0 * variance * log_odds)
    while variance * skellam_exponent(high / variance) > -log_odds:
        low, high = high, 2.0 * high
    while high - low > 1e-9 * high:
        middle = 0.5 * (low + high)
        if variance * skellam_exponent(middle / variance) > -log_odds:
            low = middle
        else:
            high = middle
    return high


def _polya_tail(law: PolyaNoise, log_odds: float) -> float:
    """Smallest B of Chernoff's bound over a grid of t; each of them proves its own."""
    decay, shape = math.exp(-1.0 / law.scale), law.num_silos / law.whole

    def bound(t: float) -> float:
        moment = (
            2.0 * math.log1p(-decay) - math.log1p(-decay * math.exp(t)) - math.log1p(-decay * math.exp(-t))
        )
        return (log_odds + shape * moment) / t

    return min(bound(step / 64.0 / law.scale) for step in range(1, 64))
