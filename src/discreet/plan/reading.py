"""Reading plans back, from files and from others: a plan, or one line that says why it is none."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, TypeVar

from discreet.config import Config, parse_config
from discreet.data.map_answers import MapAnswers
from discreet.documents import read_json, shown
from discreet.encoding import Grid
from discreet.errors import ConfigurationError, DataError, UnsupportedAnalysisError
from discreet.kinds.footprint import NoiseSharing
from discreet.plan.asked import asked_facts
from discreet.plan.composable import composable_cost
from discreet.plan.facts import FederationFacts
from discreet.plan.follows import first_difference
from discreet.plan.held_out import evaluation_config
from discreet.plan.plan import Plan
from discreet.plan.prepared import preparation_config
from discreet.plan.releases import RoundRelease, Thresholds
from discreet.plan.stages import Stage, asked_stages
from discreet.plan.written import LOCAL, OWN_FIELDS, PLAN_VERSION
from discreet.privacy.typed import build
from discreet.privacy.wire import Json, digest, from_json

T = TypeVar("T")


def load_plan(path: str | Path) -> Plan:
    """Reads a plan back and checks its digest, and what the file says that it costs, if it does.

    Raises:
        ConfigurationError: if the file is missing, of another version, or was altered.
    """
    path = Path(path)
    try:
        document = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{path.name} must be readable; got: {error.strerror}.") from None
    plan = parse_plan(document, name=path.name)
    beside = read_json(document)
    if "composable" in beside:  # files from before it was written have none
        _require_cost(plan, beside["composable"], path.name)
    return plan


def _require_cost(plan: Plan, stated: Json, name: str) -> None:
    try:
        found = first_difference(stated, composable_cost(plan), "composable")
    except (UnsupportedAnalysisError, ArithmeticError, ValueError) as error:
        raise ConfigurationError(f"{name} must be a plan whose cost is known; it is not: {error}") from None
    if found is not None:
        raise ConfigurationError(
            f"{name} must say what its plan costs; {found}. It was altered, or another version of discreet "
            "made it. Leave 'composable' out, or plan again."
        )


def parse_plan(document: bytes, *, name: str = "the plan") -> Plan:
    """Reads a serialised plan and checks its digest; never anything but a plan or a `ConfigurationError`.

    What stands beside digest and plan is left unread.

    Raises:
        ConfigurationError: if it is no plan, of another version, or was altered.
    """
    try:
        parsed = read_json(document)
        stated, data = parsed["digest"], parsed["plan"]
        version = data["version"]
    except (ValueError, KeyError, TypeError):
        raise ConfigurationError(f"{name} must be a plan; it cannot be read.") from None
    if version != PLAN_VERSION:
        raise ConfigurationError(f"{name} must have version {PLAN_VERSION}; got {version!r}.")
    if digest(data) != stated:
        raise ConfigurationError(f"{name} must match its own digest; it was altered.")
    try:
        return _from_json(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        # What is wrong with a plan's columns is nothing that records could mend.
        if isinstance(error, ConfigurationError) and not isinstance(error, DataError):
            raise
        said = str(error).rstrip(".")
        raise ConfigurationError(f"{name} must be a plan; a field of it is not: {said}.") from None


def _from_json(data: dict[str, Any]) -> Plan:
    """Builds a plan from fields whose types, names and bounds are checked first; no code is imported."""
    # Two documents would else be one plan: a machine's own tables are no part of the digest.
    if LOCAL & data["config"].keys():
        raise ConfigurationError(f"a plan must hold no table of a machine ({', '.join(sorted(LOCAL))}).")
    config, facts = parse_config(data["config"], source="plan.json"), _facts(data["facts"])
    thresholds, evaluation = _flat(Thresholds, data["thresholds"]), data.get("evaluation")
    if (evaluation is None) != (config.evaluate is None):
        raise ConfigurationError(
            "'evaluation' of a plan must be there if its config asks for one, and only then; it is "
            f"{'left out' if evaluation is None else 'there'}. Plan again."
        )
    prepared = data.get("preparation")
    if (prepared is None) != (config.preparation is None):
        raise ConfigurationError(
            "'preparation' of a plan must be there if its config asks for one; it differs."
        )
    release = _release_from_json(data["release"])
    plan = build(
        Plan,
        {
            "config": config,
            "facts": facts,
            "capacities": tuple(data["capacities"]),
            "grid": _flat(Grid, data["grid"]),
            "release": release,
            "thresholds": thresholds,
            "guarantees": from_json(data["guarantees"]),
            "own": _own(data.get("own", []), release, facts),
            "evaluation": None
            if evaluation is None
            else _questions(evaluation, evaluation_config(config, facts), facts, thresholds),
            "segments": _segments(data.get("segments", []), config),
            "preparation": None
            if prepared is None
            else _questions(prepared, preparation_config(config, facts), facts, thresholds),
        },
    )
    for part in filter(None, (plan, plan.evaluation, plan.preparation)):
        if len(part.capacities) != len(plan.facts.silos) or not all(count >= 1 for count in part.capacities):
            raise ConfigurationError(
                f"'capacities' must hold a positive number for every silo, {len(plan.facts.silos)}; got "
                f"{shown(str(part.capacities), 100)}. Plan again."
            )
    return plan


def _facts(data: dict[str, Any]) -> FederationFacts:
    stated = data.get("map_answers")
    answers = {} if stated is None else {"map_answers": _flat(MapAnswers, stated)}
    return _flat(FederationFacts, data | answers)


def _own(
    stated: list[dict[str, Json]], release: RoundRelease, facts: FederationFacts
) -> tuple[RoundRelease, ...]:
    """Builds the releases of silos that differ from the plan's in some fields."""
    if stated and (len(stated) != len(facts.silos) or any(set(one) != set(OWN_FIELDS) for one in stated)):
        raise ConfigurationError("'own' of a plan must say the same fields for every silo; it does not.")
    base = {field.name: getattr(release, field.name) for field in dataclasses.fields(release)}
    return tuple(
        build(RoundRelease, {**base, **{name: from_json(one[name]) for name in OWN_FIELDS}}) for one in stated
    )


def _questions(data: dict[str, Any], asked: Config, facts: FederationFacts, thresholds: Thresholds) -> Plan:
    """Builds the plan of questions that a training asks, of which less is stated than of the training."""
    return build(
        Plan,
        {
            "config": asked,
            "facts": asked_facts(asked, facts),
            "capacities": tuple(data["capacities"]),
            "grid": _flat(Grid, data["grid"]),
            "release": _release_from_json(data["release"]),
            "thresholds": thresholds,
            "guarantees": from_json(data["guarantees"]),
        },
    )


def _segments(data: list[dict[str, Any]], config: Config) -> tuple[Stage, ...]:
    """Builds the stages of a training with segments, whose configs follow from its own."""
    return tuple(
        Stage(one.config, one.rounds, _flat(Grid, stated["grid"]), _release_from_json(stated["release"]))
        for one, stated in zip(asked_stages(config), data, strict=True)
    )


def _flat(kind: type[T], data: dict[str, Any]) -> T:
    """Reads a flat dataclass from JSON, where tuples are lists."""
    return build(kind, {key: tuple(item) if isinstance(item, list) else item for key, item in data.items()})


def _release_from_json(data: dict[str, Any]) -> RoundRelease:
    fields = {name: from_json(value) for name, value in data.items() if name != "sharing"}
    return build(RoundRelease, {**fields, "sharing": _flat(NoiseSharing, data["sharing"])})
