"""Who takes part in a round, where silos, segments and schedules may say it differently."""

from __future__ import annotations

from discreet.config import Config
from discreet.kinds import NoSamplingConfig
from discreet.plan import Plan
from discreet.plan.silos import sampling_of
from discreet.report.wording import UNITS


def samples_nowhere(plan: Plan) -> bool:
    """Whether no silo samples in any round."""
    return all(
        isinstance(sampling_of(stage.config, silo), NoSamplingConfig)
        for stage in plan.stages
        for silo in plan.facts.silos
    )


def every_round(plan: Plan) -> str:
    """Names the rounds that a unit that is not sampled takes part in: with a schedule, its silo's sums."""
    return "every round" if plan.timetable is None else "every sum that its silo is in"


def sampling_text(plan: Plan) -> str:
    """Says in one line who enters a round; where that differs, at which silos or in which rounds."""
    ways: dict[str, list[str]] = {}
    first = 1
    for stage in plan.stages:
        last = first + stage.rounds - 1
        for silo in plan.facts.silos:
            where = silo if len(plan.stages) == 1 else f"rounds {first} to {last}"
            named = ways.setdefault(_way(plan, stage.config, silo), [])
            if where not in named:
                named.append(where)
        first = last + 1
    if len(ways) == 1:
        return next(iter(ways))
    return "; ".join(f"{', '.join(named)}: {way}" for way, named in ways.items())


def _way(plan: Plan, config: Config, silo: str) -> str:
    sampling = sampling_of(config, silo)
    if plan.timetable is not None and isinstance(sampling, NoSamplingConfig):
        return f"none: everyone takes part in {every_round(plan)}"
    return sampling.describe(UNITS[plan.unit])
