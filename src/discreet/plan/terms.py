"""From a plan to what the parties of secure aggregation agree on."""

from __future__ import annotations

import hashlib

from discreet.plan.plan import Plan
from discreet.secagg import SumTerms


def sum_terms(plan: Plan, session: bytes) -> SumTerms:
    """Returns what the parties of secure aggregation agree on; the plan's hash is bound into it."""
    return SumTerms(
        session=session,
        clients=plan.facts.silos,
        threshold=plan.thresholds.threshold,
        min_survivors=plan.thresholds.min_survivors,
        max_colluding=plan.thresholds.max_colluding,
        bits=plan.grid.bits,
        length=plan.grid.dimension,
        context=hashlib.sha256(f"{plan.digest()}/{plan.facts.model_digest}".encode()).digest(),
    )
