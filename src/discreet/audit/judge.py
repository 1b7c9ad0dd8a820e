"""From scores to a finding: fixed numbers of guesses at both ends of the ranking, then the two tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.accounting.gdp import gaussian_epsilon
from discreet.audit.binomial_tail import audited_epsilon_lower
from discreet.audit.findings import CanaryFinding
from discreet.audit.one_run import Scores
from discreet.audit.tradeoff_tail import audited_mu_lower, tradeoff_p_value
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.tradeoff import TradeoffCurve

# An eighth of the canaries is guessed, half of them "in": near the best share for μ from 0.2 to 2, by
# simulation of the Gaussian mechanism (docs/audit.md). It must not be chosen after looking.
GUESSED_SHARE = 8


def judge(
    scores: Sequence[Scores], *, canaries: str, claim: Guarantee, curve: TradeoffCurve, confidence: float
) -> CanaryFinding:
    """Guesses the canaries of all rehearsals together and tests the claim.

    Independent rehearsals are one mechanism that shows all of them, in which every canary still has the
    claimed guarantee; so the theorems apply to all canaries at once.

    Args:
        scores: one for each rehearsal, of the same adversary.
        canaries: which ones, in words.
        claim: the guarantee to be audited.
        curve: the claimed trade-off curve, no higher than the truth if the claim holds.
        confidence: of each statement, in (0, 1).
    """
    values = np.concatenate([score.values for score in scores])
    included = np.concatenate([score.included for score in scores])
    count = len(values)
    each_side = max(1, count // (2 * GUESSED_SHARE))
    order = np.argsort(values, kind="stable")
    correct = int(included[order[-each_side:]].sum() + (~included[order[:each_side]]).sum())
    guesses = 2 * each_side
    mu = audited_mu_lower(canaries=count, guesses=guesses, correct=correct, confidence=confidence)
    return CanaryFinding(
        canaries=canaries,
        claim=claim,
        count=count,
        guesses=guesses,
        correct=correct,
        audited_epsilon_lower=audited_epsilon_lower(
            canaries=count, guesses=guesses, correct=correct, delta=claim.delta, confidence=confidence
        ),
        audited_gaussian_epsilon_lower=gaussian_epsilon(mu, claim.delta),
        p_value=tradeoff_p_value(curve, canaries=count, guesses=guesses, correct=correct),
        confidence=confidence,
    )
