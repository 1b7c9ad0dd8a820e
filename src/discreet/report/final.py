"""Which guarantees a finished or interrupted run has: the one place where every reader takes them from."""

from __future__ import annotations

from discreet.plan import Plan
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.ledger import Spending


def final_guarantees(plan: Plan, spending: Spending) -> tuple[Guarantee, ...]:  # noqa: ARG001
    """Returns one guarantee for each adversary, after everything that the ledger holds."""
    return plan.guarantees
