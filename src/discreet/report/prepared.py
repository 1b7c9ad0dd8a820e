"""What noisy sums before the first round gave, as lines of a report."""

from __future__ import annotations

from datetime import date

from discreet.arrays import Floats
from discreet.config.federation import public_facts
from discreet.data import table_rules
from discreet.data.columns import Days, Numeric
from discreet.data.standard import Standard
from discreet.errors import LedgerError
from discreet.kinds.preparation import ClassWeightsConfig, StandardiseConfig
from discreet.plan import Plan
from discreet.report.content import Fact
from discreet.rounds import RunRecord
from discreet.rounds.preparing import announced_map, prepared_from, record_map


def prepared_facts(run: RunRecord) -> tuple[Fact, ...]:
    """Returns what noisy sums before the first round gave: class weights, or centres and scales."""
    plan, stated = run.plan, run.plan.preparing
    if not isinstance(stated, ClassWeightsConfig | StandardiseConfig) or not run.spending.completed:
        return ()
    try:
        found = prepared_from(run.directory.load_state().arrays)
    except LedgerError:
        return ()
    announced = None if found is None else announced_map(plan, found)
    if isinstance(stated, StandardiseConfig):
        return _centers_and_scales(plan, announced)
    if announced is None:
        return (Fact("Class weights", "1 each", "the noisy counts were lost, and stay charged"),)
    classes = plan.data.classes or tuple(map(str, range(plan.facts.num_classes)))
    each = ", ".join(
        f"{name}: {weight:.3g}" for name, weight in zip(classes, announced.ravel().tolist(), strict=True)
    )
    return (Fact("Class weights", each, "how much a record of each class counts, by noisy counts"),)


def _centers_and_scales(plan: Plan, announced: Floats | None) -> tuple[Fact, ...]:
    """Returns where numbers were centred and how they were scaled, each in its column's unit."""
    used = record_map(plan, announced)
    rules = table_rules(plan.data.source, public_facts(plan.data))
    if rules is None or not isinstance(used, Standard):
        return (Fact("Centres and scales", "none", "the noisy histograms were lost, and stay charged"),)
    said, first = [], 0
    for column in rules.schema.columns:
        ramp = used.ramp(first)
        first += len(column.names)
        if ramp is None or not isinstance(column, Numeric | Days):
            continue
        half = (column.high - column.low) / 2.0
        center, scale = column.low + half * (1.0 + ramp.center), half * ramp.scale
        days = isinstance(column, Days)
        said.append(
            f"{column.column}: {date.fromordinal(round(center)) if days else f'{center:.4g}'} "
            f"± {scale:.4g}{' days' if days else ''}"
        )
    meaning = "centre ± scale of each number, by noisy histograms; they are released"
    return (Fact("Centres and scales", ", ".join(said), meaning),)
