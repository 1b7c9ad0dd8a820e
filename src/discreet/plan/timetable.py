"""Which silos are in which sum, where a config has a schedule, and what a schedule does not go with."""

from __future__ import annotations

from functools import lru_cache

from pydantic import TypeAdapter

from discreet.config import Config
from discreet.config.training import TrainingConfig
from discreet.errors import ConfigurationError
from discreet.kinds import ScheduleConfig, Timetable
from discreet.plan.training import silos_of_a_unit


def planned_timetable(config: Config, silos: tuple[str, ...]) -> Timetable | None:
    """Returns the timetable of a config's training over ``silos``; None where every round asks everybody.

    Raises:
        ConfigurationError: for what has no proof under a schedule; the message names the key.
    """
    schedule = config.training.schedule
    if schedule is None:
        return None
    _require_provable(config, schedule)
    floor, contributions = config.aggregation.min_survivors, config.training.planned_rounds
    return _cached(schedule.model_dump_json(), silos, contributions, len(silos) if floor is None else floor)


def require_no_timetable(training: TrainingConfig, what: str) -> None:
    """Refuses a schedule where nothing keeps to one.

    Args:
        training: a plan's.
        what: what is asked for, such as "a training over real silos".

    Raises:
        ConfigurationError: if there is one.
    """
    if training.schedule is not None:
        raise ConfigurationError(
            f"'training.schedule' must be left out for {what}, which keeps to no timetable yet; got "
            f"{training.schedule.kind}. `discreet run` carries it out."
        )


def planned_sums(config: Config, silos: tuple[str, ...]) -> int:
    """Returns how many sums a config plans: its rounds, or as many as its timetable has."""
    found = planned_timetable(config, silos)
    return config.training.planned_rounds if found is None else len(found.sums)


_SCHEDULE: TypeAdapter[ScheduleConfig] = TypeAdapter(ScheduleConfig)


@lru_cache(maxsize=8)
def _cached(schedule: str, silos: tuple[str, ...], contributions: int, floor: int) -> Timetable:
    read = _SCHEDULE.validate_json(schedule)
    return read.timetable(silos, contributions=contributions, floor=floor)


def _require_provable(config: Config, schedule: ScheduleConfig) -> None:
    """Refuses what the proof of docs/theory/schedules.md does not cover."""
    training, aggregation = config.training, config.aggregation
    if training.local.noise_inside and schedule.sums:
        raise ConfigurationError(
            "'training.schedule' must be left out for noisy-steps, whose noise is proven for the silo's own "
            "messages. Take another local kind, or leave the schedule out."
        )
    if config.privacy.norm_rule is not None:
        raise ConfigurationError(
            "'privacy.clip_norm' must be a number with 'training.schedule': silos that train on models of "
            "different ages would clip to different norms."
        )
    if aggregation.protocol == "bell" or aggregation.mode == "one-phase":
        raise ConfigurationError(
            "'aggregation' must be bonawitz in mode malicious or semi-honest with 'training.schedule'; got "
            f"{aggregation.protocol} in mode {aggregation.mode}."
        )
    if config.evaluate is not None:
        raise ConfigurationError(
            "'evaluate' must be left out with 'training.schedule': between sums of some silos there is no "
            'round after which all are asked. Ask about the released model: [[ask]] kind = "evaluation".'
        )
    if silos_of_a_unit(config) > 1:
        raise ConfigurationError(
            "'data.person.most_silos' must be 1 with 'training.schedule', or the silos of a person would "
            f"show it in different sums; got {silos_of_a_unit(config)}."
        )
