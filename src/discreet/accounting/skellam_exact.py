r"""Exact one-dimensional Rényi divergences of Skellam noise, for grids too coarse for anything smoother.

P[k] = e^{−μ} I_k(μ) = e^{−μ h(k/μ)} · (1/2π) ∫ e^{−ρ(1−cos s)} cos(k(s − sin s)) ds over one period, with
h(a) = a·asinh(a) − √(1+a²) + 1 and ρ = √(μ² + k²): the inversion integral along the contour through its
saddle point (docs/theory/integers.md, Lemma S). The trapezoidal rule with n nodes errs by the mass that the
tilted law, of variance ρ, has at distance n.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from discreet.arrays import Floats

# The maximum over shifts is a finite computation; these bounds keep it below a second.
MAX_VARIANCE = 1024.0
MAX_SHIFT = 16
_MAX_ORDER = 64


def skellam_log_pmf(k: Floats, variance: float) -> Floats:
    """Returns log P[Skellam = k], relative error about 1e-12, for integer ``k`` of shape ``(n,)``.

    Example:
        >>> float(skellam_log_pmf(np.array([3.0]), 25.0)[0])  # doctest: +ELLIPSIS
        -2.706...
    """
    a = k / variance
    exponent = variance * (a * np.arcsinh(a) - a * a / (1.0 + np.sqrt(1.0 + a * a)))
    rho = np.hypot(variance, k)
    nodes = 2 * (int(14.0 * math.sqrt(float(rho.max()))) // 2) + 64
    s = 2.0 * math.pi * np.arange(nodes // 2 + 1) / nodes
    weights = np.full(len(s), 2.0 / nodes)
    weights[[0, -1]] = 1.0 / nodes
    damped = np.exp(-np.outer(rho, 2.0 * np.sin(s / 2.0) ** 2)) * np.cos(np.outer(k, s - np.sin(s)))
    return np.asarray(np.log(damped @ weights) - exponent)


@functools.lru_cache(maxsize=16)
def skellam_rdp_per_square(variance: float, max_shift: int) -> Floats:
    r"""Returns max over k = 1 … ``max_shift`` of ε_α(k)/k², for α = 0 … 64 (0 below 2).

    Guarantee:
        A vector of integer shifts k_i with Σ k_i² ≤ Δ² and |k_i| ≤ ``max_shift`` has ε_α ≤ Δ² times this.
    """
    orders = np.arange(2, _MAX_ORDER + 1, dtype=np.float64)
    reach = 16.0 * math.sqrt(variance) + 64.0
    top = _MAX_ORDER * max_shift
    x = np.arange(-math.ceil(reach), math.ceil(top + 2.0 * reach + top), dtype=np.float64)
    log_p = skellam_log_pmf(x, variance)
    worst = np.zeros(_MAX_ORDER + 1)
    for shift in range(1, max_shift + 1):
        shifted, plain = log_p[:-shift], log_p[shift:]
        # P is centred at `shift`: P[x] = p(x − shift), Q[x] = p(x).
        logs = plain + np.outer(orders, shifted - plain)
        peaks = logs.max(axis=1)
        sums = np.log(np.exp(logs - peaks[:, None]).sum(axis=1)) + peaks
        worst[2:] = np.maximum(worst[2:], sums / (orders - 1.0) / shift**2)
    return worst
