r"""Gaussian differential privacy: the exact closed forms of the (composed) Gaussian mechanism.

Legend: μ = L2 sensitivity ÷ noise standard deviation; adaptive composition is μ = √Σ μ_i² (Dong, Roth, Su
2022, Corollary 2). Φ is the standard normal distribution function.
"""

from __future__ import annotations

import math

from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtri

from discreet.errors import ConfigurationError

SMALLEST = math.ulp(0.0)
"""The smallest positive float: δ of noise that has no pure differential privacy is at least this."""

# Relative upward rounding of every root, well above the tolerance of the solver.
_ROUND_UP = 1.0 + 1e-11


def gaussian_delta(mu: float, epsilon: float) -> float:
    r"""Returns the smallest δ at which a μ-GDP Gaussian mechanism is (ε, δ)-DP.

    δ(ε) = Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2): Balle, Wang (2018), Theorem 8. Negative ε is allowed. Where
    μ > 0 and ε is finite it is positive, and so is the result: what is too small for a float is rounded up.

    Example:
        >>> round(gaussian_delta(1.0, 1.0), 6)
        0.126937
    """
    if not mu >= 0.0:
        raise ConfigurationError(f"mu must be >= 0; got {mu}.")
    if mu == 0.0:
        return max(0.0, -math.expm1(epsilon))
    if math.isinf(mu):
        return 1.0
    upper = float(log_ndtr(-epsilon / mu + mu / 2))
    lower = float(log_ndtr(-epsilon / mu - mu / 2)) + epsilon
    if math.isinf(epsilon) and epsilon > 0.0:
        return 0.0
    return max(SMALLEST, -math.exp(upper) * math.expm1(min(0.0, lower - upper)))


def gaussian_epsilon(mu: float, delta: float) -> float:
    r"""Returns the smallest ε ≥ 0 at which a μ-GDP Gaussian mechanism is (ε, δ)-DP, rounded up by 1e-11.

    Example:
        >>> round(gaussian_epsilon(1.0, 1e-5), 6)
        4.377178
    """
    if not 0.0 <= delta <= 1.0:
        raise ConfigurationError(f"delta must be in [0, 1]; got {delta}.")
    if mu == 0.0 or gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    if delta == 0.0 or math.isinf(mu):
        return math.inf
    # Φ(−ε/μ + μ/2) ≥ δ(ε), so this ε is large enough.
    upper = mu * (mu / 2 - float(ndtri(delta))) + mu

    def excess(epsilon: float) -> float:
        value = gaussian_delta(mu, epsilon)
        return (math.log(value) if value > 0.0 else -1e4) - math.log(delta)

    return float(brentq(excess, 0.0, upper, xtol=1e-13 * (1.0 + upper), rtol=1e-13)) * _ROUND_UP + 1e-13
