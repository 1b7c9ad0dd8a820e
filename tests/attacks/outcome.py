"""What an attack got, as a value: one line of the table."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.stats import beta


@dataclass(frozen=True, slots=True)
class Outcome:
    """One attack.

    Attributes:
        attack: what was tried, in words.
        before: what it got from an earlier version, as an independent review measured it.
        now: what it gets from this one.
        works: whether a claim is exceeded, or what should be hidden shows.
    """

    attack: str
    before: str
    now: str
    works: bool


def epsilon_shown(false_positives: int, false_negatives: int, trials: int, delta: float) -> float:
    """Returns the ε that a test with these errors shows, with 95 % confidence (Clopper and Pearson 1934)."""
    low, high = (
        float(beta.ppf(0.975, wrong + 1, trials - wrong)) if wrong < trials else 1.0
        for wrong in (false_positives, false_negatives)
    )
    # Either error may be the small one: the guarantee is symmetric.
    ratios = ((1.0 - high - delta) / low, (1.0 - low - delta) / high)
    return max(0.0, *(math.log(ratio) if ratio > 0.0 else 0.0 for ratio in ratios))
