"""The guarantees of a plan when it was carried out: every attempt counts where single messages are seen."""

from __future__ import annotations

from discreet.plan.guaranteed import against, rows
from discreet.plan.plan import Plan
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.ledger import Spending


def guarantees_after(plan: Plan, spent: Spending) -> tuple[Guarantee, ...]:
    """Returns one guarantee for each adversary, for what a ledger says was done and what is still planned.

    Guarantee:
        An attempt that came to nothing released nothing, but the message of a silo may have left it: whoever
        sees messages saw the planned ones and one more for every such attempt. Other rows are the plan's
        worst case: noise of silos that did not drop out is not counted, since who drops out may depend on
        what was released before (docs/theory/rows.md).
    """
    return tuple(
        against(
            plan,
            adversary,
            honest,
            rounds=plan.releases,
            aborted=spent.aborted,
            over=spent.charged >= plan.releases,
            silo=silo,
        )
        for adversary, honest, silo in rows(plan)
    )
