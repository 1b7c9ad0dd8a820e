"""One line for what is wrong with a config: the key's full name, and the nearest known key."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from discreet.config.sections import Config, PrivacyConfig


def first_problem(error: ValidationError, data: Mapping[str, Any]) -> str:
    """Says what must hold and what was got for the first error, unknown keys first."""
    problems = sorted(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
    problem = problems[0]
    location = _without_tags(
        [str(part) for part in problem["loc"]], data, missing=problem["type"] == "missing"
    )
    name = ".".join(location)
    if problem["type"] == "extra_forbidden":
        if len(location) == 3 and location[0] == "silos" and location[2] in PrivacyConfig.model_fields:
            return _follows_from_settings(name, location[1])
        nearest = difflib.get_close_matches(location[-1], known_keys(location[:-1], data), n=1, cutoff=0.5)
        hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
        return f"unknown key {name!r}.{hint}"
    if problem["type"] == "missing":
        return f"the key {name!r} must be given; it is missing."
    if problem["type"] == "tuple_type" and isinstance(problem["input"], str):
        stated = json.dumps(problem["input"], ensure_ascii=False)
        return f"{name!r}: must be a list, as in {location[-1]} = [{stated}]; got {problem['input']!r}."
    message = problem["msg"].removeprefix("Value error, ")
    got = problem["input"]
    shown = f"; got {got!r}" if isinstance(got, str | int | float | bool) else ""
    where = f"{name!r}: " if name else ""
    return f"{where}{message[0].lower()}{message[1:]}{shown}."


def _follows_from_settings(name: str, silo: str) -> str:
    """Refuses a target of one silo's own, which is what most people would write first."""
    return (
        f"unknown key {name!r}. A silo has no target of its own: its guarantee follows from its settings. "
        "For a stronger one, state a lower learning_rate (of stable-steps or tangent-steps), clip_norm or "
        f"sampling in [silos.{silo}]; `discreet plan` shows what it leads to."
    )


def _without_tags(location: list[str], data: Any, *, missing: bool) -> list[str]:
    """Drops the union tags that the validator mixes into a location, keeping the user's own keys."""
    kept: list[str] = []
    for position, part in enumerate(location):
        last = position == len(location) - 1
        if isinstance(data, Mapping) and part in data:
            data = data[part]
            kept.append(part)
        elif isinstance(data, list | tuple) and part.isdigit() and int(part) < len(data):
            data = data[int(part)]
            kept.append(part)
        elif last and missing:
            kept.append(part)
    return kept


def known_keys(location: list[str], data: Any) -> list[str]:
    """Returns the keys that the table at ``location`` accepts."""
    models: list[type[BaseModel]] = [Config]
    for part in location:
        data = data.get(part) if isinstance(data, Mapping) else data[int(part)]
        models = [found for model in models for found in _sections_of(model, part)] or models
    kind = data.get("kind") if isinstance(data, Mapping) else None
    keys: list[str] = []
    for model in models:
        tag = model.model_fields.get("kind")
        if kind is None or tag is None or kind in getattr(tag.annotation, "__args__", ()):
            keys.extend(model.model_fields)
    return keys


def _sections_of(model: type[BaseModel], field: str) -> list[type[BaseModel]]:
    """Returns the section types that a field may hold."""
    if field not in model.model_fields:
        return []
    pending: list[Any] = [model.model_fields[field].annotation]
    found: list[type[BaseModel]] = []
    while pending:
        annotation = pending.pop()
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            found.append(annotation)
        pending.extend(getattr(annotation, "__args__", ()))
    return found
