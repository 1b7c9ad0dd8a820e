r"""How many right guesses a whole trade-off curve allows: sharper than one (ε, δ) for the same run.

Legend: f a symmetric trade-off curve, f̄ = 1 − f; m canaries, c′ guesses, p_i the probability of exactly i
right ones. With r_i = Σ_{j≥i} (j/m) p_j and h_i = Σ_{j≥i} ((c′ − j)/m) p_j, f-DP implies r_i ≤ f̄(h_{i−1}) for
fair coins: Mahloujifar, Melis, Chaudhuri (2024), arXiv:2410.22235, Theorem 3.2 with k = 2, for the sets
{i, …, c′}. Since f is symmetric, f̄⁻¹(x) = f(1 − x).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import ndtr, ndtri

from discreet.audit.binomial_tail import require_confidence, require_counts
from discreet.privacy.tradeoff import GaussianTradeoff, PiecewiseTradeoff, TradeoffCurve

_LARGEST_MU = 20.0
_SMALLEST_TAIL = 1e-12

FalseNegatives = Callable[[float], float]


def tradeoff_p_value(curve: TradeoffCurve, *, canaries: int, guesses: int, correct: int) -> float:
    """Bounds the probability of at least ``correct`` right guesses against any mechanism with ``curve``.

    Guarantee:
        Holds for every mechanism whose trade-off function is nowhere below ``curve``, however the guesses
        depend on its output, as long as their number is fixed. Values below 1e-12 are returned as 1e-12.

    Raises:
        ConfigurationError: unless 0 <= correct <= guesses <= canaries.

    Example:
        >>> curve = GaussianTradeoff(0.0)
        >>> tradeoff_p_value(curve, canaries=100, guesses=100, correct=80) < 1e-3
        True
    """
    require_counts(canaries, guesses, correct)
    false_negatives = _evaluator(curve)

    def refuted(tail: float) -> bool:
        return is_refuted(false_negatives, tail, canaries=canaries, guesses=guesses, correct=correct)

    low, high = math.log(_SMALLEST_TAIL), 0.0
    if not refuted(1.0):
        return 1.0
    if refuted(_SMALLEST_TAIL):
        return _SMALLEST_TAIL
    while high - low > 1e-4:
        middle = (low + high) / 2.0
        low, high = (low, middle) if refuted(math.exp(middle)) else (middle, high)
    return math.exp(high)


def audited_mu_lower(*, canaries: int, guesses: int, correct: int, confidence: float) -> float:
    """Returns the largest μ such that the guesses refute every Gaussian trade-off curve up to G_μ.

    Guarantee:
        If the mechanism is μ-GDP, the returned value exceeds μ with probability at most 1 − ``confidence``.

    Example:
        >>> audited_mu_lower(canaries=1000, guesses=1000, correct=800, confidence=0.95) > 0.5
        True
    """
    require_counts(canaries, guesses, correct)
    require_confidence(confidence)

    def refuted(mu: float) -> bool:
        evaluator = _evaluator(GaussianTradeoff(mu))
        return is_refuted(evaluator, 1.0 - confidence, canaries=canaries, guesses=guesses, correct=correct)

    if not refuted(0.0):
        return 0.0
    low, high = 0.0, _LARGEST_MU
    while high - low > 1e-5:
        middle = (low + high) / 2.0
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


def is_refuted(
    false_negatives: FalseNegatives, tail: float, *, canaries: int, guesses: int, correct: int
) -> bool:
    r"""Says whether P[right guesses ≥ ``correct``] ≥ ``tail`` is impossible under the curve.

    All of the tail is put on exactly ``correct``, the case that needs least probability elsewhere; then the
    smallest r_i and h_i that the constraints leave are followed down; r_0 + h_0 must not exceed c′/m.
    """
    right = tail * correct / canaries
    wrong = tail * (guesses - correct) / canaries
    budget = guesses / canaries
    for number in range(correct - 1, -1, -1):
        least = max(wrong, false_negatives(max(0.0, 1.0 - right)))
        right += number / (guesses - number) * (least - wrong)
        wrong = least
        if right + wrong > budget:
            return True
    return False


def _evaluator(curve: TradeoffCurve) -> FalseNegatives:
    """Returns f as a fast function of one number."""
    match curve:
        case GaussianTradeoff(mu=mu):
            return lambda rate: float(ndtr(-ndtri(rate) - mu))
        case PiecewiseTradeoff(points=points):
            epsilon, delta = np.array(points).T
            slope = np.exp(np.minimum(epsilon, 700.0))
            near, far = 1.0 - delta, (1.0 - delta) / slope
            return lambda rate: max(
                0.0, float((near - slope * rate).max()), float((far - rate / slope).max())
            )
        case _:
            return curve.false_negative_rate
