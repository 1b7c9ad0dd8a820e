"""What a plan says of batch norm over few records."""

from __future__ import annotations

from discreet.plan.plan import Plan

_FEW = 8


def few_together(plan: Plan) -> tuple[str, ...]:
    """Warns of batches in which batch norm sees few records, by public numbers; nothing is refused."""
    if plan.facts.batch_norm_channels == 0:
        return ()
    records = plan.training.local.expected_batch(min(plan.capacities))
    if records >= _FEW:
        return ()
    return (
        f"batch norm sees about {records:.3g} records together in a step, and below {_FEW} its mean and "
        "variance are rough: raise batch_size, take fewer groups, or use group norm.",
    )
