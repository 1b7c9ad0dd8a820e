r"""Integer noise as post-processed Gaussian noise: the smoothing argument, with explicit constants.

For a Gaussian density φ_s² and any real c, Poisson summation gives
 Σ_{j∈ℤ} φ_{s²}(j + c) ∈ [1 − ϑ, 1 + ϑ],  ϑ(s²) = 2 Σ_{m≥1} exp(−2π² m² s²).
Three consequences, each a bound on |log| of a ratio of probabilities on ℤ (docs/theory/integers.md):
 (a) round(N(0,v₁)) + … + round(N(0,vₙ)) against round(N(0, Σv_i) + W), W a sum of n − 1 uniforms;
 (b) N_ℤ(0,v₁) + … + N_ℤ(0,vₙ) against N_ℤ(0, Σv_i) (Kairouz, Liu, Steinke 2021, for equal v_i);
 (c) N_ℤ(0,v) against "draw y ~ N(0, v − r²), then N_ℤ(y, r²)", which is equivariant under integer shifts.
The right-hand sides of (a) and (c), added to an integer query, are post-processing of the Gaussian mechanism.
"""

from __future__ import annotations

import math


def theta(variance: float) -> float:
    """Returns an upper bound on ϑ(variance) = 2 Σ_{m≥1} exp(−2π² m² variance)."""
    first = math.exp(-2.0 * math.pi**2 * variance)
    # Terms fall at least as fast as first^m.
    return 2.0 * first / (1.0 - first) if first < 1.0 else math.inf


def _log_widths(variance: float, num_shares: int) -> tuple[float, float]:
    """Returns Σ_j −log(1 − ϑ_j) and Σ_j log(1 + ϑ_j), ϑ_j = ϑ(variance·j/(j+1)), j = 1 … num_shares − 1."""
    down = up = 0.0
    for j in range(1, min(num_shares, 65)):
        value = theta(variance * j / (j + 1))
        if value >= 1.0:
            return math.inf, math.inf
        down, up = down - math.log1p(-value), up + math.log1p(value)
    # ϑ_j falls in j: the first 64 are summed, the others bounded by the last of them.
    rest = max(0, num_shares - 65)
    if rest:
        value = theta(variance * 64 / 65)
        down, up = down - rest * math.log1p(-value), up + rest * math.log1p(value)
    return down, up


def rounded_sum_ratio(silo_variance: float, num_silos: int) -> float:
    """Bounds |log P/G| per coordinate in (a), for ``num_silos`` equal variances.

    Example:
        >>> rounded_sum_ratio(9.0, 16) < 1e-37
        True
    """
    return _log_widths(silo_variance, num_silos)[0]


def discrete_sum_ratio(silo_variance: float, num_silos: int) -> float:
    """Bounds |log P/G| per coordinate in (b), for ``num_silos`` equal parameters; both laws normalised."""
    down, up = _log_widths(silo_variance, num_silos)
    return down + up


def smoothing_ratio(kernel_variance: float) -> float:
    """Bounds |log P/G| per coordinate in (c) for kernel variance r² at most v."""
    value = theta(kernel_variance)
    return math.inf if value >= 1.0 else math.log1p(value) - math.log1p(-value)


def kernel_variance(ratio: float) -> float:
    """Returns an r² at which `smoothing_ratio` is at most ``ratio``, for ratios in (0, 0.1]."""
    return math.log(5.0 / ratio) / (2.0 * math.pi**2)
