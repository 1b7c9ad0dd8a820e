"""A sweep: the plan for every combination of some settings, to choose from before anything is trained."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.config import Config, parse_config
from discreet.config.problems import known_keys
from discreet.documents import read_toml
from discreet.errors import ConfigurationError, DiscreetError
from discreet.plan.counted import parts
from discreet.plan.facts import FederationFacts
from discreet.plan.judged import judged
from discreet.plan.make import make_plan
from discreet.plan.plan import Plan
from discreet.privacy.judgement import Judgement

# Of each pair a config takes exactly one, so setting one drops the other.
_RIVALS = {
    "steps": "records_per_step",
    "records_per_step": "steps",
    "epsilon": "noise_multiplier",
    "noise_multiplier": "epsilon",
}
_TABLES = ((), ("training",), ("privacy",), ("aggregation",), ("data",))


@dataclass(frozen=True, slots=True)
class Axis:
    """One setting, as the user named it and as the config does, and the values that it takes."""

    name: str
    key: tuple[str, ...]
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Costs:
    """What a plan costs; per round unless said otherwise.

    Attributes:
        epsilon: against the plan's strongest reported adversary, over all rounds, at ``delta``.
        delta: the config's δ.
        judgement: what this ε and δ are worth.
        noise_multiplier: certain honest noise over sensitivity after rounding.
        noise_norm: expected L2 norm of all silos' noise in the decoded sum of the first round, in weights.
        signal_to_noise: largest possible L2 norm of the sum of all updates, over ``noise_norm``.
        bits: width of the ring.
        bytes_per_silo: payload of one masked vector.
        bytes_per_training: the same over all rounds.
    """

    epsilon: float
    delta: float
    judgement: Judgement
    noise_multiplier: float
    noise_norm: float
    signal_to_noise: float
    bits: int
    bytes_per_silo: int
    bytes_per_training: int


@dataclass(frozen=True, slots=True)
class SweepRow:
    """One combination: its settings, and its costs or the reason why it was refused."""

    settings: tuple[tuple[str, Any], ...]
    outcome: Costs | str


def parse_axis(text: str, config: Config) -> Axis:
    """Reads ``local.steps=1,4,16``; a table name may be left out where the key is found in one.

    Raises:
        ConfigurationError: if it is not KEY=VALUE,… or the config has no such key.
    """
    name, equals, listed = text.partition("=")
    if not (name and equals and listed):
        raise ConfigurationError(f"a sweep must be KEY=VALUE,VALUE,…; got {text!r}. Try rounds=5,10,20.")
    key = tuple(name.split("."))
    data = _as_data(config)
    for table in _TABLES:
        full = (*table, *key)
        if _is_known(full, data):
            return Axis(name, full, tuple(_value(item) for item in listed.split(",")))
    raise ConfigurationError(
        f"a sweep must name a key of the config; got {name!r}. Try local.steps or rounds."
    )


def sweep(config: Config, facts: FederationFacts, axes: Sequence[Axis]) -> tuple[SweepRow, ...]:
    """Plans every combination of the axes' values, the last axis moving fastest.

    A combination that is refused keeps its row, with the reason.
    """
    rows = []
    for values in itertools.product(*(axis.values for axis in axes)):
        settings = tuple((axis.name, value) for axis, value in zip(axes, values, strict=True))
        data = _as_data(config)
        for axis, value in zip(axes, values, strict=True):
            _set(data, axis.key, value)
        try:
            outcome: Costs | str = costs(make_plan(parse_config(data), facts))
        except DiscreetError as refusal:
            outcome = str(refusal)
        rows.append(SweepRow(settings, outcome))
    return tuple(rows)


def costs(plan: Plan) -> Costs:
    """Returns what ``plan`` costs."""
    share = plan.release.share
    everyone = share.variance / share.num_silos * plan.thresholds.num_silos
    noise_norm = math.sqrt(everyone * plan.grid.dimension) / plan.grid.scale
    spent = plan.spent(plan.releases)
    return Costs(
        epsilon=spent.epsilon,
        delta=spent.delta,
        judgement=judged(plan, spent),
        noise_multiplier=plan.noise_multiplier,
        noise_norm=noise_norm * plan.unit_length(plan.order.first_round),
        signal_to_noise=plan.thresholds.num_silos * plan.grid.silo_bound / noise_norm,
        bits=plan.grid.bits,
        bytes_per_silo=plan.bytes_per_vector,
        bytes_per_training=sum(part.bytes_per_vector * count for part, count in parts(plan, plan.releases)),
    )


def _as_data(config: Config) -> dict[str, Any]:
    return config.model_dump(mode="json", exclude_none=True)


def _is_known(key: tuple[str, ...], data: Mapping[str, Any]) -> bool:
    table: Any = data
    for part in key[:-1]:
        if not (isinstance(table, Mapping) and isinstance(table.get(part), Mapping)):
            return False
        table = table[part]
    return key[-1] in known_keys(list(key[:-1]), data)


def _set(data: dict[str, Any], key: tuple[str, ...], value: Any) -> None:
    table = data
    for part in key[:-1]:
        table = table[part]
    table.pop(_RIVALS.get(key[-1], ""), None)
    table[key[-1]] = value


def _value(text: str) -> Any:
    """Reads one value as TOML would, or as plain text."""
    try:
        return read_toml(f"value = {text}")["value"]
    except ValueError:
        return text
