r"""The symmetric Skellam law: close to the discrete Gaussian, with proven constants; its own Rényi bounds.

Lemma S (docs/theory/integers.md). Let P be Skellam of variance μ ≥ 64 and G = N_ℤ(0, μ). For |k| ≤ μ/2, with
x = k/√μ and He₄(x) = x⁴ − 6x² + 3,
 |log P(k)/G(k) − He₄(x)/(24μ)| ≤ (x⁶/80 + x⁴/8 + 0.35 x² + 0.15)/μ².
"""

from __future__ import annotations

import math
from dataclasses import dataclass

MIN_VARIANCE = 64.0
# L2 norms under a standard normal x: of He₄/24, and of the polynomial of Lemma S (triangle inequality).
_LEADING_NORM = math.sqrt(24.0) / 24.0
_REST_NORM = math.sqrt(10395.0) / 80.0 + math.sqrt(105.0) / 8.0 + 0.35 * math.sqrt(3.0) + 0.15
# Moments of N_ℤ(0, μ) exceed those of N(0, μ) by less than this factor for μ ≥ 64 (Poisson summation).
_LATTICE_FACTOR = 1.0 + 1e-9


@dataclass(frozen=True, slots=True)
class LogRatio:
    """Two product laws whose likelihood ratio stays within e^±``bound`` but for probability ``tail``.

    Guarantee:
        For every event S, P(S) ≤ e^bound G(S) + tail and G(S) ≤ e^bound P(S) + tail.
    """

    bound: float
    tail: float


def log_ratio_envelope(variance: float, x: float) -> float:
    """Bounds |log P/G| for all |k| ≤ x√μ (Lemma S; |He₄(x)| ≤ max(6, x⁴))."""
    rest = x**6 / 80.0 + x**4 / 8.0 + 0.35 * x**2 + 0.15
    return max(6.0, x**4) / (24.0 * variance) + rest / variance**2


def log_tail(variance: float, k: float) -> float:
    """Bounds log P[Skellam ≥ k] by Chernoff: −μ h(k/μ), h(a) = a·asinh(a) − √(1+a²) + 1."""
    a = k / variance
    return -variance * (a * math.asinh(a) - a * a / (1.0 + math.sqrt(1.0 + a * a)))


def skellam_against_discrete_gaussian(variance: float, num_draws: int, tail: float) -> LogRatio | None:
    """Compares ``num_draws`` Skellam draws with as many of N_ℤ(0, variance).

    Guarantee:
        PROVEN: Lemma S inside a box of half-width X√μ, union bound outside, Bennett's inequality for the
        sum of the i.i.d. log ratios inside (docs/theory/integers.md, Theorem 3).

    Args:
        variance: Skellam variance per draw.
        num_draws: coordinates times releases.
        tail: probability that may be given away, split evenly between box and deviation.

    Returns:
        The comparison, or ``None`` where Lemma S does not reach (small variance, wide box, no tail).
    """
    if not (variance >= MIN_VARIANCE and tail > 0.0):
        return None
    x = math.sqrt(2.0 * math.log(8.0 * num_draws / tail))
    while 2.0 * num_draws * math.exp(log_tail(variance, x * math.sqrt(variance))) > tail / 2.0:
        x *= 1.02
    if x * math.sqrt(variance) > variance / 2.0:
        return None
    width = log_ratio_envelope(variance, x)
    second_moment = (
        _LATTICE_FACTOR * math.exp(width) * ((_LEADING_NORM + _REST_NORM / variance) / variance) ** 2
    )
    mean = tail / (2.0 * num_draws) + 0.5 * math.exp(width) * second_moment
    deviation = _bennett(num_draws * second_moment, width + mean, math.log(2.0 / tail))
    return LogRatio(num_draws * mean + deviation, tail)


def _bennett(variance: float, largest: float, log_inverse: float) -> float:
    """Returns t with P[Σ(V − EV) > t] ≤ e^−log_inverse, for V ≤ ``largest`` + EV and total ``variance``.

    Chernoff with Bennett's bound log E e^{λ(V−EV)} ≤ (e^{λb} − 1 − λb) Var/b², at the best of some λ
    (Boucheron, Lugosi, Massart 2013, Theorem 2.9).
    """
    candidates = []
    for power in range(121):
        scaled = 1e-6 * 1.15**power
        growth = math.expm1(scaled) - scaled if scaled > 1e-4 else scaled**2 / 2.0 * (1.0 + scaled)
        candidates.append(largest * (growth * variance / largest**2 + log_inverse) / scaled)
    return min(candidates)
