r"""Rényi bounds of sampled releases.

Integer orders use binomial sums in log space with cached coefficients; fractional orders of Gaussian noise
are integrated by the trapezoidal rule, which is exact to roundoff for these integrands: they are analytic in
a strip of half-width π/μ and fall like a Gaussian, so a step h errs by about exp(−2π²/(μh)).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from discreet.accounting.pairs import Mixture
from discreet.arrays import Floats, Integers

# Beyond these, chords between integer orders serve fractional ones: quadrature would gain nothing.
_MAX_FRACTIONAL = 64.0
_MAX_FRACTIONAL_MU = 8.0


@dataclass(frozen=True, slots=True)
class _Binomials:
    """All (α, k), k = 0…α, of some integer orders, flattened: log C(α, k) and where each order starts."""

    orders: Floats
    k: Floats
    log_binomial: Floats
    starts: Integers


@functools.lru_cache(maxsize=8)
def _binomials(orders: tuple[int, ...]) -> _Binomials:
    lengths = np.array([order + 1 for order in orders])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    alpha = np.repeat(np.array(orders, dtype=np.float64), lengths)
    k = np.arange(lengths.sum(), dtype=np.float64) - np.repeat(starts, lengths)
    log_binomial = gammaln(alpha + 1.0) - gammaln(k + 1.0) - gammaln(alpha - k + 1.0)
    return _Binomials(alpha, k, log_binomial, starts)


def _integers(orders: Floats) -> tuple[int, ...]:
    return tuple(int(order) for order in orders if order == int(order))


def _segment_log_sum(values: Floats, starts: Integers) -> Floats:
    """Returns log Σ exp over each segment that begins at ``starts``."""
    peaks = np.maximum.reduceat(values, starts)
    lengths = np.diff(np.append(starts, len(values)))
    return np.asarray(np.log(np.add.reduceat(np.exp(values - np.repeat(peaks, lengths)), starts)) + peaks)


def poisson_rdp(orders: Floats, prob: float, log_moment: Callable[[Floats], Floats]) -> Floats:
    r"""Returns ε_α of a Poisson-sampled release, computed at integer orders.

    ε_α = 1/(α−1) · log Σ_k C(α,k) (1−q)^{α−k} q^k exp(m(k)), where m(k) = (k−1) ε_k bounds the unsampled
    release. Exact for the Gaussian; Mironov, Talwar, Zhang (2019), Section 3.3. Their Theorem 5 gives both
    directions of add/remove for every noise that is symmetric under reflection.

    Args:
        orders: Rényi orders.
        prob: sampling probability q.
        log_moment: m(k) for k = 0 … max α; m(0) = m(1) = 0.
    """
    integers = _integers(orders)
    if not integers:
        return np.full(len(orders), np.inf)
    table = _binomials(integers)
    moments = log_moment(np.arange(max(integers) + 1, dtype=np.float64))
    moments[:2] = 0.0
    if prob == 1.0:
        sums = moments[np.array(integers)]
    else:
        terms = table.log_binomial + (table.orders - table.k) * math.log1p(-prob) + table.k * math.log(prob)
        sums = _segment_log_sum(terms + moments[table.k.astype(np.int64)], table.starts)
    return between_orders(orders, np.array(integers, dtype=np.float64), np.maximum(sums, 0.0))


def between_orders(orders: Floats, integers: Floats, cumulants: Floats) -> Floats:
    """Returns ε_α at all ``orders`` from (α − 1) ε_α at integer ones; ∞ beyond the largest.

    (α − 1) D_α is convex in α and 0 at α = 1 (van Erven, Harremoës 2014, Corollary 2), so chords are bounds.
    """
    nodes, values = np.concatenate([[1.0], integers]), np.concatenate([[0.0], cumulants])
    return np.asarray(np.interp(orders, nodes, values, right=np.inf) / (orders - 1.0))


def poisson_gaussian_rdp(orders: Floats, mu: float, prob: float) -> Floats:
    """Returns ε_α of the Poisson-sampled Gaussian under add/remove, all orders (Mironov et al. 2019)."""
    values = poisson_rdp(orders, prob, lambda k: k * (k - 1.0) * (mu * mu / 2.0))
    if mu > _MAX_FRACTIONAL_MU:
        return values
    fractional = (orders != np.floor(orders)) & (orders <= _MAX_FRACTIONAL)
    upper, lower = Mixture((1.0 - prob, prob), (0.0, mu)), Mixture((1.0,), (0.0,))
    values[fractional] = mixture_rdp(orders[fractional], upper, lower)
    return values


def mixture_rdp(orders: Floats, upper: Mixture, lower: Mixture) -> Floats:
    """Returns D_α(upper‖lower) of two mixtures of unit Gaussians, by quadrature; any real order > 1."""
    values = np.empty(len(orders))
    # Orders of similar size share one grid of nodes.
    octaves = np.floor(np.log2(orders)).astype(np.int64)
    for octave in np.unique(octaves):
        chosen = octaves == octave
        values[chosen] = _mixture_divergences(orders[chosen], upper, lower)
    return values


def _mixture_divergences(orders: Floats, upper: Mixture, lower: Mixture) -> Floats:
    """Returns 1/(α−1) · log ∫ P^α Q^{1−α} for orders that share their nodes."""
    widest = max(*upper.means, *(-mean for mean in lower.means), 1e-9)
    step = min(0.25, 0.5 / widest)
    # Of N(a) against N(-b) the integrand has its peak at αa + (α − 1)b.
    above, below = max(0.0, *upper.means), max(0.0, *(-mean for mean in lower.means))
    reach = 12.0 + float(orders.max()) * (above + below)
    x = np.arange(-reach, reach + step, step)
    log_upper, log_lower = upper.log_density(x), lower.log_density(x)
    logs = np.outer(orders, log_upper - log_lower) + (log_lower - x * x / 2.0)
    peaks = logs.max(axis=1)
    sums = np.log(np.exp(logs - peaks[:, None]).sum(axis=1)) + peaks
    integrals = sums + math.log(step) - 0.5 * math.log(2.0 * math.pi)
    return np.asarray(np.maximum(integrals, 0.0) / (orders - 1.0))


def fixed_size_rdp(orders: Floats, prob: float, log_moment: Callable[[Floats], Floats]) -> Floats:
    r"""Returns ε_α of sampling without replacement under replace-one, computed at integer orders.

    Wang, Balle, Kasiviswanathan (2019), Theorem 9, for noise whose ε_∞ is unbounded:
    ε_α ≤ 1/(α−1) · log(1 + q² C(α,2) min{4(e^{ε₂}−1), 2e^{ε₂}} + Σ_{j≥3} 2 q^j C(α,j) e^{(j−1)ε_j}).

    Args:
        orders: Rényi orders.
        prob: sample size ÷ population.
        log_moment: (j − 1) ε_j of the unsampled release under replacement.
    """
    integers = _integers(orders)
    if not integers:
        return np.full(len(orders), np.inf)
    table = _binomials(integers)
    moments = log_moment(np.arange(max(integers) + 1, dtype=np.float64))
    terms = table.log_binomial + table.k * math.log(prob) + math.log(2.0) + moments[table.k.astype(np.int64)]
    second = float(moments[2])
    pair = (
        math.log(min(4.0 * math.expm1(second), 2.0 * math.exp(second)))
        if second < 700
        else second + math.log(2.0)
    )
    terms = np.where(table.k == 2.0, table.log_binomial + 2.0 * math.log(prob) + pair, terms)
    terms = np.where(table.k == 0.0, 0.0, np.where(table.k == 1.0, -np.inf, terms))
    sums = _segment_log_sum(terms, table.starts)
    unsampled = moments[np.array(integers)]
    return between_orders(orders, np.array(integers, dtype=np.float64), np.minimum(sums, unsampled))
