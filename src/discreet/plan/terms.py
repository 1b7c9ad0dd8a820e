"""From a plan to what the parties of secure aggregation agree on."""

from __future__ import annotations

import hashlib

from discreet.errors import ConfigurationError
from discreet.plan.plan import Plan
from discreet.secagg import SumTerms


def require_sums(plan: Plan) -> None:
    """Refuses a plan that sums nothing in secret, where nothing else is carried out.

    Raises:
        ConfigurationError: saying what carries it out.
    """
    if not plan.thresholds.summed:
        raise ConfigurationError(
            "'training.schedule' must not be local over real silos, which send nothing but to a secure sum; "
            '`discreet run` carries it out. Take kind = "buffered" there.'
        )


def sum_terms(plan: Plan, session: bytes) -> SumTerms:
    """Returns what the parties of secure aggregation agree on; the plan's hash is bound into it.

    Raises:
        ConfigurationError: for a plan whose silos send by themselves.
    """
    require_sums(plan)
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
