"""The explorer's contents: the costs of every combination of a few settings around a config."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from discreet.config import Config
from discreet.plan import FederationFacts, Plan
from discreet.plan.sweep import Axis, SweepRow, parse_axis, sweep

_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
_STEP_FACTORS = (0.5, 1.0, 2.0)
_MORE_SILOS = (1, 2, 4)
_MOST_DROPOUTS = 2


@dataclass(frozen=True, slots=True)
class Dimension:
    """One setting that can be turned: its name and its values, in order."""

    name: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Exploration:
    """Every combination of the dimensions' values, each with its costs or the reason of its refusal.

    Attributes:
        title: name of the training.
        adversary: in plain words, whom every ε is against.
        unit: whom it protects.
        dimensions: the settings, as columns of ``rows``.
        rows: one for each combination of the dimensions' values.
        asked: the plan's own values, where they are among the dimensions' values.
    """

    title: str
    adversary: str
    unit: str
    dimensions: tuple[Dimension, ...]
    rows: tuple[SweepRow, ...]
    asked: tuple[tuple[str, Any], ...]


def explore(config: Config, plan: Plan) -> Exploration:
    """Plans around ``config``: rounds, ε, local steps, numbers of silos, and silos that may drop out.

    Numbers of silos other than the config's are what-ifs: every further silo has the largest capacity.
    """
    axes = [parse_axis(text, config) for text in _nearby(config, plan)]
    silos = len(plan.facts.silos)
    rows: list[SweepRow] = []
    counts = [silos * factor for factor in _MORE_SILOS]
    for count, dropouts in itertools.product(counts, range(_MOST_DROPOUTS + 1)):
        facts, variant = _with_silos(config, plan, count)
        survivors = Axis("dropouts", ("aggregation", "min_survivors"), (count - dropouts,))
        found = sweep(variant, facts, [*axes, survivors])
        rows += [
            SweepRow((*row.settings[:-1], ("silos", count), ("dropouts", dropouts)), row.outcome)
            for row in found
        ]
    allowed = silos - plan.thresholds.min_survivors
    asked = [(axis.name, _own_value(plan, axis)) for axis in axes]
    return _exploration(plan, rows, [*asked, ("silos", silos), ("dropouts", min(allowed, _MOST_DROPOUTS))])


def from_sweep(plan: Plan, axes: Iterable[Axis], rows: Iterable[SweepRow]) -> Exploration:
    """Shows a sweep whose axes the user chose."""
    return _exploration(plan, rows, [(axis.name, _own_value(plan, axis)) for axis in axes])


def _exploration(plan: Plan, rows: Iterable[SweepRow], asked: list[tuple[str, Any]]) -> Exploration:
    found = tuple(rows)
    names = [name for name, _ in found[0].settings]
    columns = zip(*([value for _, value in row.settings] for row in found), strict=True)
    dimensions = tuple(
        Dimension(name, tuple(dict.fromkeys(column))) for name, column in zip(names, columns, strict=True)
    )
    adversary, _ = plan.budget_adversary()
    return Exploration(
        title=plan.name,
        adversary=adversary.describe(),
        unit=plan.unit.value,
        dimensions=dimensions,
        rows=found,
        asked=tuple((d.name, dict(asked)[d.name]) for d in dimensions if dict(asked)[d.name] in d.values),
    )


def _nearby(config: Config, plan: Plan) -> list[str]:
    """Returns sweeps of rounds, of the budget and, where they can be set, of local steps."""
    rounds = sorted({max(1, round(factor * plan.training.planned_rounds)) for factor in _FACTORS})
    sweeps = [] if plan.segments else [f"rounds={_listed(rounds)}"]
    if config.privacy.epsilon is not None:
        sweeps.append(f"epsilon={_listed(factor * config.privacy.epsilon for factor in _FACTORS)}")
    steps = getattr(config.training.local, "steps", None)
    if isinstance(steps, int):
        chosen = sorted({max(1, round(factor * steps)) for factor in _STEP_FACTORS})
        sweeps.append(f"local.steps={_listed(chosen)}")
    per_step = getattr(config.training.local, "records_per_step", None)
    if per_step is not None:
        chosen = sorted({max(1, round(factor * per_step)) for factor in _STEP_FACTORS})
        sweeps.append(f"local.records_per_step={_listed(chosen)}")
    return sweeps


def _listed(values: Iterable[float]) -> str:
    return ",".join(f"{value:g}" for value in values)


def _own_value(plan: Plan, axis: Axis) -> Any:
    """Returns what the plan has for a setting: the config may leave it to the plan."""
    value: Any = plan
    for part in axis.key:
        value = getattr(value, part, None)
    return value


def _with_silos(config: Config, plan: Plan, count: int) -> tuple[FederationFacts, Config]:
    """Returns facts and config of a federation with ``count`` silos; the config's own names come first."""
    own = plan.facts.silos
    if count == len(own):
        return plan.facts, config
    further = tuple(f"further silo {number}" for number in range(len(own) + 1, count + 1))
    data = config.data.with_unit_capacity(max(plan.capacities))
    silos = (*own, *further)[:count]
    return dataclasses.replace(plan.facts, silos=silos), config.model_copy(update={"data": data})
