"""Membership attacks: which of two neighbouring worlds does a release come from?"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.stats import beta

from discreet.audit.binomial_tail import require_confidence


@dataclass(frozen=True, slots=True)
class AttackRates:
    """How often a fixed test said "in", in each world.

    Attributes:
        false_positives: among ``trials`` releases without the unit.
        true_positives: among ``trials`` releases with it.
        trials: releases of each world.
    """

    false_positives: int
    true_positives: int
    trials: int

    def epsilon_lower(self, delta: float, confidence: float) -> float:
        r"""Returns a lower bound on ε at ``delta``: log((TPR⁻ − δ)/FPR⁺), or the same of the error rates.

        Guarantee:
            Exceeds the true ε with probability at most 1 − ``confidence``: four one-sided Clopper–Pearson
            limits share the error. (ε, δ)-DP implies TPR ≤ e^ε FPR + δ and 1 − FPR ≤ e^ε (1 − TPR) + δ
            (Kairouz, Oh, Viswanath 2015, Theorem 2.1).

        Example:
            >>> round(AttackRates(100, 900, 1000).epsilon_lower(1e-5, 0.95), 2)
            1.96
        """
        require_confidence(confidence)
        error = (1.0 - confidence) / 4.0
        hits = _at_least(self.true_positives, self.trials, error) - delta
        alarms = _at_most(self.false_positives, self.trials, error)
        quiet = _at_least(self.trials - self.false_positives, self.trials, error) - delta
        missed = _at_most(self.trials - self.true_positives, self.trials, error)
        return max(0.0, _log_ratio(hits, alarms), _log_ratio(quiet, missed))


def _at_least(successes: int, trials: int, error: float) -> float:
    """Lower Clopper–Pearson limit."""
    return 0.0 if successes == 0 else float(beta.ppf(error, successes, trials - successes + 1))


def _at_most(successes: int, trials: int, error: float) -> float:
    """Upper Clopper–Pearson limit."""
    return 1.0 if successes == trials else float(beta.isf(error, successes + 1, trials - successes))


def _log_ratio(numerator: float, denominator: float) -> float:
    return math.log(numerator / denominator) if numerator > 0.0 else -math.inf
