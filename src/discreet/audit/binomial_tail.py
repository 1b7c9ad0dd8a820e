r"""How many right guesses (ε, δ)-DP allows when many canaries are guessed in one run.

Legend: m canaries, each in the training data by its own fair coin; r of them guessed, v guessed right;
q = e^ε/(1 + e^ε), the accuracy of randomised response.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import binom

from discreet.errors import ConfigurationError

_LARGEST_EPSILON = 60.0


def guessing_p_value(epsilon: float, delta: float, *, canaries: int, guesses: int, correct: int) -> float:
    r"""Bounds the probability of at least ``correct`` right guesses against any (ε, δ)-DP mechanism.

    Guarantee:
        P[W ≥ v] ≤ F(v) + 2mδ·max_{1≤i≤v} (F(v − i) − F(v))/i with F(v) = P[Bin(r, q) ≥ v], whatever the
        mechanism and whatever the guesser knows besides the coins. Steinke, Nasr, Jagielski (2023),
        arXiv:2305.08846, Theorem 5.2.

    Args:
        epsilon: the claim, >= 0.
        delta: the claim, in [0, 1].
        canaries: m, all of them, guessed or not.
        guesses: r, fixed before looking.
        correct: v.

    Raises:
        ConfigurationError: unless 0 <= correct <= guesses <= canaries.

    Example:
        >>> round(guessing_p_value(0.0, 0.0, canaries=10, guesses=10, correct=9), 6)
        0.010742
    """
    require_counts(canaries, guesses, correct)
    accuracy = float(expit(epsilon))
    tail = float(binom.sf(correct - 1, guesses, accuracy))
    if correct == 0 or delta == 0.0:
        return min(1.0, tail)
    below = np.arange(1, correct + 1)
    gained = binom.cdf(correct - 1, guesses, accuracy) - binom.cdf(correct - 1 - below, guesses, accuracy)
    return min(1.0, tail + 2.0 * canaries * delta * float(np.max(gained / below)))


def audited_epsilon_lower(
    *, canaries: int, guesses: int, correct: int, delta: float, confidence: float
) -> float:
    r"""Returns the largest ε that the guesses refute at ``delta``: a lower bound on the true ε.

    Guarantee:
        If the mechanism is (ε, δ)-DP, the returned value exceeds ε with probability at most 1 −
        ``confidence``; the p-value grows with ε, so every smaller ε is refuted as well.

    Example:
        >>> bound = audited_epsilon_lower(canaries=100, guesses=100, correct=100, delta=0.0, confidence=0.95)
        >>> round(bound, 2)
        3.49
    """
    require_confidence(confidence)

    def excess(epsilon: float) -> float:
        p_value = guessing_p_value(epsilon, delta, canaries=canaries, guesses=guesses, correct=correct)
        return math.log(max(p_value, 1e-300)) - math.log(1.0 - confidence)

    if excess(0.0) > 0.0:
        return 0.0
    if excess(_LARGEST_EPSILON) <= 0.0:
        return _LARGEST_EPSILON
    return float(brentq(excess, 0.0, _LARGEST_EPSILON, xtol=1e-9)) * (1.0 - 1e-8)


def require_counts(canaries: int, guesses: int, correct: int) -> None:
    """Refuses counts that no experiment can give."""
    if not 0 <= correct <= guesses <= canaries:
        raise ConfigurationError(
            "an audit must have 0 <= correct <= guesses <= canaries; "
            f"got correct={correct}, guesses={guesses}, canaries={canaries}."
        )


def require_confidence(confidence: float) -> None:
    """Refuses a confidence level outside (0, 1)."""
    if not 0.0 < confidence < 1.0:
        raise ConfigurationError(f"confidence must be in (0, 1); got {confidence}.")
