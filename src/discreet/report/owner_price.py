"""What a plan that waits would cost and leave of the budget, in the terms by which the policy composes."""

from __future__ import annotations

import math

from discreet.privacy.guarantee import Guarantee
from discreet.privacy.judgement import judge
from discreet.privacy.notation import pair_text
from discreet.report.foreign import LONGEST_TEXT, foreign
from discreet.report.wording import status_text
from discreet.silo.policy.limits import Limits
from discreet.silo.spending import Level, Odometer, Proposed


def price(asked: Proposed, cost: Guarantee, units: int, budget: Odometer) -> list[tuple[str, str]]:
    """Returns rows: what is spent, what the plan costs and is worth, what would be left, and what is allowed.

    Under a filter the budget is one share: ε and δ are no two purses of which something is left.
    """
    judged = judge(cost, units)
    verdict = f"It would be refused: {asked.refusal}" if asked.refusal else "The budget allows it."
    rows = [
        ("Spent so far, by all trainings", level_text(asked.before, budget.limits)),
        ("This plan costs, by itself", f"{pair_text(*asked.alone)} against {foreign(cost.against)}"),
        ("That is", f"{judged.level.value}: {judged.sentence}."),
        ("How well founded", status_text(cost)),
        ("Spent after this plan", level_text(asked.after, budget.limits)),
        ("Left after this plan", left_text(asked.after, budget.limits)),
    ]
    if budget.year is not None and budget.year_limits is not None and asked.year_after is not None:
        rows += [
            ("Spent so far this year", level_text(budget.year, budget.year_limits)),
            ("Left of this year after this plan", left_text(asked.year_after, budget.year_limits)),
        ]
    return [*rows, ("Is it within the budget?", foreign(verdict, LONGEST_TEXT))]


def level_text(level: Level, limits: Limits) -> str:
    """Says what is spent: ε and δ where they are added, else the one share that a filter has.

    Example:
        >>> level_text(Level(1.0, 1e-5, 0.5), Limits(2.0, 1e-4, "renyi"))
        '50.0 % of the budget'
    """
    share = f"{share_text(level.share)} of the budget"
    if limits.composition != "sum":
        return share
    return f"{pair_text(level.epsilon, level.delta)}: {share}" if level.share else "nothing"


def left_text(level: Level, limits: Limits) -> str:
    """Says what is left, rounded down; nothing where a limit is exceeded.

    Example:
        >>> left_text(Level(1.0, 1e-5, 0.5), Limits(2.0, 1e-4, "renyi"))
        '50.0 % of the budget'
    """
    share = f"{_tenths(1.0 - level.share) / 10:.1f} % of the budget"
    if level.share > 1.0:
        return "nothing: it would exceed the budget"
    if limits.composition != "sum":
        return share
    left = pair_text(limits.epsilon - level.epsilon, limits.delta - level.delta, down=True)
    return f"{left}: {share}"


def share_text(share: float) -> str:
    """Writes a used share of the budget, rounded up; what is left is the rest.

    Example:
        >>> share_text(0.26691), share_text(math.inf)
        ('26.7 %', 'more than all')
    """
    if not share < math.inf:
        return "more than all"
    return f"{100 - _tenths(1.0 - share) / 10:.1f} %"


def _tenths(left: float) -> int:
    """Returns thousandths of the budget that are left, rounded down but for what floating point adds."""
    return math.floor(1000.0 * left + 1e-9) if left > -math.inf else 0
