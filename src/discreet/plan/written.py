"""A plan as JSON: what its digest is of, and what parties exchange."""

from __future__ import annotations

import dataclasses
import json
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from discreet.config.data import without_folder
from discreet.config.weight_files import with_weight_files
from discreet.plan.facts import FederationFacts
from discreet.plan.releases import RoundRelease
from discreet.plan.stages import Stage
from discreet.privacy.wire import Json, to_json

if TYPE_CHECKING:
    from discreet.plan.plan import Plan

PLAN_VERSION = 3
OWN_FIELDS = ("l2_sensitivity", "rounding_failure_prob", "sampling", "steps")
LOCAL = frozenset({"run", "speed"})


def plan_json(plan: Plan) -> Json:
    """Returns a plan as plain JSON."""
    config = with_weight_files(plan.config, lambda path: PurePath(path).name)
    agreement = config.model_dump(mode="json", exclude=set(LOCAL), exclude_none=True)
    agreement["data"]["source"] = without_folder(config.data.source)
    return {
        "version": PLAN_VERSION,
        "config": agreement,
        "facts": _facts_json(plan.facts),
        "capacities": list(plan.capacities),
        "grid": _plain(plan.grid),
        "release": _release_json(plan.release),
        "thresholds": _plain(plan.thresholds),
        "guarantees": to_json(plan.guarantees),
        **({"own": [_own_json(one) for one in plan.own]} if plan.own else {}),
        **({} if plan.evaluation is None else {"evaluation": _questions_json(plan.evaluation)}),
        **({} if plan.preparation is None else {"preparation": _questions_json(plan.preparation)}),
        **({"segments": [_stage_json(stage) for stage in plan.segments]} if plan.segments else {}),
    }


def _questions_json(plan: Plan) -> Json:
    """Returns what questions do not share with their training, or follow from its config and facts."""
    return {
        "capacities": list(plan.capacities),
        "grid": _plain(plan.grid),
        "release": _release_json(plan.release),
        "guarantees": to_json(plan.guarantees),
    }


def _stage_json(stage: Stage) -> Json:
    """Returns what a stage does not share with the plan; the rest follows from its config."""
    return {"grid": _plain(stage.grid), "release": _release_json(stage.release)}


def _facts_json(facts: FederationFacts) -> Json:
    """Returns the facts; what only models with batch norm have is left out of others' plans."""
    plain = _plain(facts)
    if facts.batch_norm_channels == 0:
        del plain["batch_norm_channels"]
    return plain


def _release_json(release: RoundRelease) -> Json:
    fields = {field.name: getattr(release, field.name) for field in dataclasses.fields(release)}
    sharing = fields.pop("sharing")
    return {**{name: to_json(value) for name, value in fields.items()}, "sharing": _plain(sharing)}


def _own_json(release: RoundRelease) -> Json:
    """Returns in what a silo's release may differ from the plan's."""
    return {name: to_json(getattr(release, name)) for name in OWN_FIELDS}


def indented(document: Json) -> bytes:
    """Returns JSON as files have it, a value a line."""
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def _plain(value: Any) -> dict[str, Any]:
    """Returns a flat dataclass as JSON; tuples become lists."""
    flat = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return {key: list(item) if isinstance(item, tuple) else item for key, item in flat.items()}
