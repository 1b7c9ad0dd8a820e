"""What noisy sums before the first round gave, as lines of a report: numbers that are released, and noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date

import numpy as np

from discreet.arrays import Floats
from discreet.config.federation import public_facts
from discreet.data import table_rules
from discreet.data.columns import Days, Numeric, feature_names
from discreet.data.standard import Standard
from discreet.errors import LedgerError
from discreet.kinds.preparation import CentreConfig, ClassWeightsConfig, ProjectConfig, StandardiseConfig
from discreet.plan import Plan
from discreet.plan.order import count_of
from discreet.plan.preparation import BlockSum
from discreet.report.content import Fact
from discreet.rounds import RunRecord
from discreet.rounds.preparing import announced_map, block_sums, prepared_from, record_map

# Features, or directions, that are told one by one: those farthest from nothing.
_TOLD = 12

_LOST = {
    ClassWeightsConfig: ("Class weights", "1 each", "the noisy counts were lost, and stay charged"),
    StandardiseConfig: ("Centres and scales", "none", "the noisy histograms were lost, and stay charged"),
    CentreConfig: ("Centre of records", "none", "the noisy means were lost, and stay charged"),
    ProjectConfig: (
        "Directions",
        "public ones, which know nothing of records",
        "the noisy moments were lost, and stay charged",
    ),
}


def prepared_facts(run: RunRecord) -> tuple[Fact, ...]:
    """Returns what noisy sums before the first round gave: weights, centres and scales, or directions."""
    plan, stated = run.plan, run.plan.preparing
    if stated is None or type(stated) not in _LOST or not run.spending.completed:
        return ()
    try:
        found = prepared_from(run.directory.load_state().arrays)
    except LedgerError:
        return ()
    if found is None:
        return (Fact(*_LOST[type(stated)]),)
    announced, sums = announced_map(plan, found), block_sums(plan, found)
    told = {
        ClassWeightsConfig: _class_weights,
        StandardiseConfig: _centers_and_scales,
        CentreConfig: _center,
        ProjectConfig: _directions,
    }
    return told[type(stated)](plan, announced, sums)


def _class_weights(plan: Plan, announced: Floats, sums: Sequence[BlockSum]) -> tuple[Fact, ...]:
    """Returns what a record of each class counts, and the noisy counts that it follows from."""
    classes = plan.data.classes or tuple(map(str, range(plan.facts.num_classes)))
    (counted,) = sums
    weights, counts = (
        ", ".join(f"{name}: {value:.{digits}}" for name, value in zip(classes, own.tolist(), strict=True))
        for own, digits in ((announced.ravel(), "3g"), (counted.values[: len(classes)], "0f"))
    )
    noise = f"noisy counts, each ± {math.sqrt(counted.variance):.3g}; they are released"
    return (
        Fact("Class weights", weights, "how much a record of each class counts, by noisy counts"),
        Fact("Class counts", counts, noise),
    )


def _center(plan: Plan, announced: Floats, sums: Sequence[BlockSum]) -> tuple[Fact, ...]:
    """Returns where the mean of records is, by the features that it is farthest off 0 in."""
    center, noise = announced[0], _noise_of_means(sums[0])
    text = f"{np.linalg.norm(center):.3g} from 0, where records reach to 1"
    names = _names(plan, len(center))
    if names:
        text += f": {_farthest(names, center)}"
    return (
        Fact(
            "Centre of records",
            text,
            f"the noisy mean that is taken off every record; each of its {len(center)} numbers {noise}; they "
            "are released",
        ),
    )


def _directions(plan: Plan, announced: Floats, sums: Sequence[BlockSum]) -> tuple[Fact, ...]:
    """Returns onto what records are projected: of each direction the feature that it is most along."""
    rows, center = announced[:, :-1], announced[:, -1]
    components, features = rows.shape
    text, names = f"{count_of(components, 'direction')} of {features} features", _names(plan, features)
    if names:
        largest = [
            f"{names[place]} {row[place]:+.2f}"
            for row, place in zip(rows, np.abs(rows).argmax(axis=1), strict=True)
        ]
        text += f", most along {', '.join(largest[:_TOLD])}{', …' if components > _TOLD else ''}"
    means, moments = (_noise_of_means(one, sums[0]) for one in sums)
    return (
        Fact(
            "Directions",
            f"{text}; along them the mean of records is {np.linalg.norm(center):.3g} from 0",
            f"directions of most variance, by noisy means, each {means}, and noisy second moments, each "
            f"{moments}, of records that reach to 1; they are released",
        ),
    )


def _noise_of_means(own: BlockSum, first: BlockSum | None = None) -> str:
    """Returns the noise of a sum over the number of units, whose noisy count is the last of the first sum.

    First moments are of (u, 1)/√2, second ones of u uᵀ as they are.
    """
    counted = own if first is None else first
    units = float(counted.values[-1]) * (1.0 if counted is own else math.sqrt(2.0))
    deviation = math.sqrt(own.variance)
    return f"± {deviation / units:.2g}" if units > deviation else "lost in the noise"


def _names(plan: Plan, features: int) -> tuple[str, ...]:
    """Returns the names of the features of records, without their constant; none where they have no names."""
    rules = table_rules(plan.data.source, public_facts(plan.data))
    names = () if rules is None else tuple(feature_names(rules.schema.columns))
    return names if len(names) == features else ()


def _farthest(names: Sequence[str], values: Floats) -> str:
    order = np.argsort(-np.abs(values), kind="stable")[:_TOLD]
    told = ", ".join(f"{names[place]} {values[place]:+.2g}" for place in order)
    return told + (", …" if len(names) > _TOLD else "")


def _centers_and_scales(plan: Plan, announced: Floats, sums: Sequence[BlockSum]) -> tuple[Fact, ...]:
    """Returns where numbers were centred and how they were scaled, each in its column's unit."""
    used = record_map(plan, announced)
    rules = table_rules(plan.data.source, public_facts(plan.data))
    if rules is None or not isinstance(used, Standard):
        return ()
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
    meaning = (
        "centre ± scale of each number, by noisy histograms, of which each count is "
        f"± {math.sqrt(sums[0].variance):.3g}; they are released"
    )
    return (Fact("Centres and scales", ", ".join(said), meaning),)
