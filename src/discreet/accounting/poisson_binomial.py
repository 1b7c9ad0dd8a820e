r"""The Poisson-binomial mechanism: exact Rényi divergences per coordinate, maximised over everything unknown.

Legend: m trials and n clients; a coordinate of the sum is Σ_j Binomial(m, p_j), p_j ∈ [1/2 − θ, 1/2 + θ].

Every Bernoulli(p_j) is a mixture of the two extremes, and Rényi divergence is jointly quasi-convex, so the
other clients may be taken as j extreme trials up and m(n − 1) − j down, and the one client's m trials as i
that differ (the rest are common, and adding common noise is post-processing). For j between j₀ and j₁ the
trials that vary are dropped, again post-processing; so finitely many sums bound all j
(docs/theory/integers.md, Section 5).
"""

from __future__ import annotations

import functools
import math
from itertools import pairwise

import numpy as np
import scipy

from discreet.arrays import Floats
from discreet.errors import UnsupportedAnalysisError
from discreet.privacy.events import PoissonBinomialRelease
from discreet.privacy.units import NeighboringRelation

_BUCKETS = 16
# Beyond this, p^α q^(1−α) could be large where p itself underflows.
_MAX_EXPONENT = 500.0


def poisson_binomial_rdp(
    release: PoissonBinomialRelease, neighboring: NeighboringRelation, orders: Floats
) -> Floats:
    """Returns ε_α of one release, all coordinates together, for one client's vector changed.

    Guarantee:
        PROVEN per coordinate by the maximum described above, times the dimension. Chen, Özgür, Kairouz
        (2022), Theorem 3.3, bound the same divergence up to an unspecified constant.

    Raises:
        UnsupportedAnalysisError: under add/remove, since who sends is public.
    """
    if neighboring is NeighboringRelation.ADD_REMOVE:
        raise UnsupportedAnalysisError(
            "the Poisson-binomial mechanism must be analysed under replace-one or replace-special, since who "
            "sends is public; got add-remove."
        )
    special = neighboring is NeighboringRelation.REPLACE_SPECIAL
    values = _coordinate_rdp(
        release.num_trials, release.num_clients, release.theta, special, tuple(float(a) for a in orders)
    )
    return release.dimension * np.array(values)


@functools.lru_cache(maxsize=32)
def _coordinate_rdp(
    trials: int, clients: int, theta: float, special: bool, orders: tuple[float, ...]
) -> tuple[float, ...]:
    """Returns ε_α of one coordinate, maximised over the other clients and over the one client's values."""
    high, low = 0.5 + theta, 0.5 - theta
    others = trials * (clients - 1)
    pairs = _special_pairs(trials, high, low) if special else _replaced_pairs(trials, high, low)
    cuts = sorted({round(k * others / _BUCKETS) for k in range(_BUCKETS + 1)})
    starts = list(pairwise(cuts)) or [(0, 0)]
    worst = np.zeros(len(orders))
    reach = trials * math.log(high / low)
    alphas = np.array(orders)
    for first, last in starts:
        rest = np.convolve(_binomial(first, high), _binomial(others - last, low))
        for upper, lower in pairs:
            p, q = np.convolve(upper, rest), np.convolve(lower, rest)
            worst = np.maximum(worst, _divergences(p, q, alphas))
    return tuple(float(v) for v in np.where((alphas - 1.0) * reach <= _MAX_EXPONENT, worst, np.inf))


def _replaced_pairs(trials: int, high: float, low: float) -> list[tuple[Floats, Floats]]:
    """Returns both directions of i differing trials, i = 1 … m."""
    ups = [(_binomial(i, high), _binomial(i, low)) for i in range(1, trials + 1)]
    return ups + [(lower, upper) for upper, lower in ups]


def _special_pairs(trials: int, high: float, low: float) -> list[tuple[Floats, Floats]]:
    """Returns both directions of i trials up and m − i down against m fair ones."""
    fair = _binomial(trials, 0.5)
    mixed = [np.convolve(_binomial(i, high), _binomial(trials - i, low)) for i in range(trials + 1)]
    return [(law, fair) for law in mixed] + [(fair, law) for law in mixed]


def _binomial(trials: int, prob: float) -> Floats:
    """Returns the law of Binomial(trials, prob), shape ``(trials + 1,)``."""
    return np.asarray(scipy.stats.binom.pmf(np.arange(trials + 1), trials, prob), dtype=np.float64)


def _divergences(p: Floats, q: Floats, orders: Floats) -> Floats:
    """Returns D_α(p‖q) at every order."""
    seen = (p > 0.0) & (q > 0.0)
    log_p, log_ratio = np.log(p[seen]), np.log(p[seen] / q[seen])
    exponents = log_p + np.outer(orders - 1.0, log_ratio)
    peak = exponents.max(axis=1)
    total = np.log(np.exp(exponents - peak[:, None]).sum(axis=1)) + peak
    return np.asarray(np.maximum(total, 0.0) / (orders - 1.0))
