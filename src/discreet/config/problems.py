"""One line for what is wrong with a config: the key's full name, and the nearest known key."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from discreet.config.privacy import PrivacyConfig
from discreet.config.sections import Config

_OR_AUTO = {
    "privacy.clip_norm": "a number above 0, a table with a 'quantile'",
    "training.server": 'a table, such as { kind = "averaging" }',
}
"""What the keys take for which "auto" is written in another place than their own type."""

_A_DAY = "a day, as in 2020-05-17"
_MUST_BE = {
    "greater_than": "above {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "below {lt}",
    "less_than_equal": "at most {le}",
    "finite_number": "a finite number",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "a text",
    "too_short": "a list of at least {min_length}",
    "too_long": "a list of at most {max_length}",
    "literal_error": "{expected}",
    "union_tag_invalid": "a table whose {discriminator} is one of {expected_tags}",
    "tuple_type": "a list",
    "date_type": _A_DAY,
    "date_parsing": _A_DAY,
    "date_from_datetime_parsing": _A_DAY,
    "date_from_datetime_inexact": _A_DAY,
}
"""What must be written, by the validator's name of what is wrong."""

_DIGEST = "64 digits of 0-9 and a-f, in lower case"
_PATTERNS = {"^[0-9a-f]{64}$": _DIGEST}
"""What must be written, by the pattern that it must match."""


def first_problem(error: ValidationError, data: Mapping[str, Any]) -> str:
    """Says what must hold and what was got for the first error, unknown keys first."""
    problems = sorted(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
    # Of a value that may be a number or a table, what is wrong inside the table that was given.
    inside = (other for other in problems if _is_inside(other, problems[0], data))
    problem = next(inside, problems[0])
    location = _without_tags(
        [str(part) for part in problem["loc"]], data, missing=problem["type"] == "missing"
    )
    name = ".".join(location)
    if problem["type"] == "extra_forbidden":
        if len(location) == 3 and location[0] == "silos" and location[2] in PrivacyConfig.model_fields:
            return _follows_from_settings(name, location[1])
        # Of two forms of a kind, the other may have this very key.
        others = [key for key in known_keys(location[:-1], data) if key != location[-1]]
        nearest = difflib.get_close_matches(location[-1], others, n=1, cutoff=0.5)
        hint = f" Did you mean {nearest[0]!r}?" if nearest else _of_other_kinds(location, data)
        return f"unknown key {name!r}.{hint}"
    if problem["type"] == "missing":
        return f"the key {name!r} must be given; it is missing."
    got = problem["input"]
    expected = _expected(problem, location, data)
    if expected:
        return f"{name!r}: must be {expected}; got {got!r}."
    message = problem["msg"].removeprefix("Value error, ")
    shown = f"; got {got!r}" if isinstance(got, str | int | float | bool) else ""
    where = f"{name!r}: " if name else ""
    return f"{where}{message[0].lower()}{message[1:]}{shown}."


def _is_inside(problem: Any, outer: Any, data: Any) -> bool:
    """Says whether a problem is about a part of the value that another is about."""
    if not isinstance(outer["input"], Mapping | list | tuple):
        return False
    found, around = (
        _without_tags([str(part) for part in one["loc"]], data, missing=False) for one in (problem, outer)
    )
    return len(found) > len(around) and found[: len(around)] == around


def _expected(problem: Any, location: list[str], data: Mapping[str, Any]) -> str:
    """Says what is to be written in place of what was got, where that can be shown."""
    kind, got = problem["type"], problem["input"]
    if isinstance(got, str) and ".".join(location) in _OR_AUTO:
        return f'{_OR_AUTO[".".join(location)]}, or "auto"'
    if isinstance(got, str) and kind == "tuple_type":
        return f"a list, as in {location[-1]} = [{json.dumps(got, ensure_ascii=False)}]"
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        return f"a table{_example(location, data)}"
    if kind == "string_pattern_mismatch" and problem["ctx"]["pattern"] in _PATTERNS:
        return _PATTERNS[problem["ctx"]["pattern"]]
    stated = {
        key: f"{limit:g}" if isinstance(limit, float) else limit
        for key, limit in problem.get("ctx", {}).items()
    }
    return _MUST_BE.get(kind, "").format(**stated)


def _example(location: list[str], data: Any) -> str:
    """Returns the least that a table of a kind must state, as TOML; nothing where that is not known."""
    *outer, key = location
    models: list[type[BaseModel]] = [Config]
    for part in outer:
        data = data.get(part) if isinstance(data, Mapping) else None
        models = [found for model in models for found in _sections_of(model, part)]
    fields = [found.model_fields for model in models for found in _sections_of(model, key)]
    if len(fields) != 1 or "kind" not in fields[0]:
        return ""
    stated = [
        f"{name} = {json.dumps((field.examples or get_args(field.annotation))[0])}"
        for name, field in fields[0].items()
        if field.is_required()
    ]
    return f", such as {{ {', '.join(stated)} }}"


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


def _of_other_kinds(location: list[str], data: Any) -> str:
    """Says which other kinds of a table have a key, if some do and the table's own never has."""
    models: list[type[BaseModel]] = [Config]
    for part in location[:-1]:
        models = [found for model in models for found in _sections_of(model, part)] or models
        data = data.get(part) if isinstance(data, Mapping) else data[int(part)]
    own = data.get("kind") if isinstance(data, Mapping) else None
    kinds = [
        kind
        for model in models
        if location[-1] in model.model_fields and "kind" in model.model_fields
        for kind in get_args(model.model_fields["kind"].annotation)
    ]
    return f" It is a key of the kinds {', '.join(sorted(set(kinds)))}." if kinds and own not in kinds else ""


def tables_with(key: str) -> list[str]:
    """Returns the full names of the tables of a config that have a key, those nearest to the root first."""
    found: list[str] = []
    pending: list[tuple[str, type[BaseModel]]] = [("", Config)]
    while pending:
        name, model = pending.pop(0)
        if name and key in model.model_fields and name not in found:
            found.append(name)
        for field in model.model_fields:
            pending += [(f"{name}.{field}".removeprefix("."), inner) for inner in _sections_of(model, field)]
    return found


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
