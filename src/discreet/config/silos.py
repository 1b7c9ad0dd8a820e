"""The tables ``[silos.NAME]``: what one silo does in its own way, agreed by all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import model_validator

from discreet.data.split import OTHERS
from discreet.kinds import SamplingConfig
from discreet.kinds.fields import Count, Positive, Section, StepCount
from discreet.kinds.schedule import Ticks


class SiloConfig(Section):
    """Settings of one silo, which take the place of everybody's; public, and part of the plan.

    A silo whose contributions are shorter, or sampled more rarely, has a guarantee of its own, which every
    plan states: the noise in a sum is the same for all.

    Attributes:
        capacity: in place of ``data.record_capacity``, or ``data.person.capacity``, where a plan keeps it.
        pace: the silo's number in ``training.schedule.pace``, where a plan keeps it.
        clip_norm: in place of ``privacy.clip_norm``.
        learning_rate: in place of ``training.local.learning_rate``.
        steps: in place of ``training.local.steps``, or of ``records_per_step``.
        sampling: in place of ``training.sampling``.
    """

    capacity: Count | None = None
    pace: Ticks | None = None
    clip_norm: Positive | None = None
    learning_rate: Positive | None = None
    steps: StepCount | Literal["each"] | None = None
    sampling: SamplingConfig | None = None

    @model_validator(mode="after")
    def _says_something(self) -> SiloConfig:
        if self == SiloConfig.model_construct():
            raise ValueError(
                "must have at least one of capacity, clip_norm, learning_rate, steps, sampling and pace"
            )
        return self


def folded(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns a file's tables with capacities and paces of silos where they are said of all.

    Raises:
        ValueError: for one that is said twice, or of nothing.
    """
    stated = config.get("silos")
    if not isinstance(stated, Mapping) or not all(isinstance(one, Mapping) for one in stated.values()):
        return config
    found = dict(config)
    for key, place, default in (
        ("capacity", _capacity_place(config), OTHERS),
        ("pace", ("training", "schedule", "pace"), None),
    ):
        own = {silo: table[key] for silo, table in stated.items() if key in table}
        for silo, number in own.items():
            if not (isinstance(number, int) and not isinstance(number, bool) and number >= 1):
                raise ValueError(f"'silos.{silo}.{key}' must be a whole number, 1 or more; got {number!r}")
        if own:
            found = _with_own(found, place, own, default, key)
    rest = {
        silo: {key: value for key, value in table.items() if key not in ("capacity", "pace")}
        for silo, table in stated.items()
    }
    # An empty table stays, to be refused; one that is now said elsewhere does not.
    kept = {silo: table for silo, table in rest.items() if table or not stated[silo]}
    del found["silos"]
    return {**found, **({"silos": kept} if kept else {})}


def _capacity_place(config: Mapping[str, Any]) -> tuple[str, ...]:
    data = config.get("data")
    persons = isinstance(data, Mapping) and data.get("person") is not None
    return ("data", "person", "capacity") if persons else ("data", "record_capacity")


def _with_own(
    table: Mapping[str, Any], place: tuple[str, ...], own: Mapping[str, Any], default: str | None, key: str
) -> dict[str, Any]:
    """Returns ``table`` with each silo's own number in the mapping at ``place``."""
    silo, name = next(iter(own)), place[0]
    if len(place) > 1:
        inner = table.get(name)
        if not isinstance(inner, Mapping):
            raise ValueError(f"'silos.{silo}.{key}' must be beside {name!r}, a table, which it says more of")
        return {**table, name: _with_own(inner, place[1:], own, default, key)}
    common = table.get(name)
    if common is None:
        common = {}
    elif not isinstance(common, Mapping):
        if default is None:
            return dict(table)
        common = {default: common}
    twice = sorted(set(common) & set(own))
    if twice:
        raise ValueError(f"'silos.{twice[0]}.{key}' must be said once; {name!r} names {twice[0]} as well")
    return {**table, name: {**common, **own}}
