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
    worked_out = {
        "facts": _facts(plan.facts),
        "capacities": plan.capacities,
        "grid": _fields(plan.grid),
        "release": _release(plan.release),
        "thresholds": _fields(plan.thresholds),
        "guarantees": plan.guarantees,
        **({"own": [_own(one) for one in plan.own]} if plan.own else {}),
        **({} if plan.evaluation is None else {"evaluation": _questions(plan.evaluation)}),
        **({} if plan.preparation is None else {"preparation": _questions(plan.preparation)}),
        **({"segments": [_stage(stage) for stage in plan.segments]} if plan.segments else {}),
    }
    config = with_weight_files(plan.config, lambda path: PurePath(path).name)
    agreement = config.model_dump(mode="json", exclude=set(LOCAL), exclude_none=True)
    agreement["data"]["source"] = without_folder(config.data.source)
    return to_json({"version": PLAN_VERSION, "config": agreement, **worked_out})


def _questions(plan: Plan) -> dict[str, Any]:
    """Returns what questions do not share with their training, or follow from its config and facts."""
    return {
        "capacities": plan.capacities,
        "grid": _fields(plan.grid),
        "release": _release(plan.release),
        "guarantees": plan.guarantees,
    }


def _stage(stage: Stage) -> dict[str, Any]:
    """Returns what a stage does not share with the plan; the rest follows from its config."""
    return {"grid": _fields(stage.grid), "release": _release(stage.release)}


def _facts(facts: FederationFacts) -> dict[str, Any]:
    """Returns the facts; what few plans have, of batch norm and of feature maps, is left out of others."""
    fields = _fields(facts)
    if facts.batch_norm_channels == 0:
        del fields["batch_norm_channels"]
    if facts.map_answers is None:
        del fields["map_answers"]
    else:
        fields["map_answers"] = _fields(facts.map_answers)
    return fields


def _release(release: RoundRelease) -> dict[str, Any]:
    fields = _fields(release)
    sharing = fields.pop("sharing")
    return {**fields, "sharing": _fields(sharing)}


def _own(release: RoundRelease) -> dict[str, Any]:
    """Returns in what a silo's release may differ from the plan's."""
    return {name: getattr(release, name) for name in OWN_FIELDS}


def indented(document: Json) -> bytes:
    """Returns JSON as files have it, a value a line."""
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def _fields(value: Any) -> dict[str, Any]:
    """Returns what a dataclass holds, without the tag that its name would be."""
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
