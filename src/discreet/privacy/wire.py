"""Tagged JSON for the frozen values of this package, so that plans and ledgers say exactly what was meant.

Every dataclass becomes ``{"type": "ClassName", field: value, …}``; enums become their value under
``{"type": "EnumName", "value": …}``. Only registered types are read back; unknown ones are refused.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Iterable
from enum import Enum
from typing import Any

from discreet.errors import ConfigurationError
from discreet.privacy import adversary, events, guarantee, units
from discreet.privacy.typed import build

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None


def _public_types(modules: Iterable[Any]) -> dict[str, type]:
    found = {}
    for module in modules:
        for name, value in vars(module).items():
            is_value = isinstance(value, type) and (
                dataclasses.is_dataclass(value) or issubclass(value, Enum)
            )
            if is_value and value.__module__ == module.__name__:
                found[name] = value
    return found


_TYPES = _public_types([units, adversary, guarantee, events])


def to_json(value: object) -> Json:
    """Returns the tagged JSON of a registered value, or of plain dicts, lists, numbers and strings.

    A plain dict has no tag: whoever wrote it knows how to read it, and `from_json` does not.

    Raises:
        TypeError: for anything else; silent coercion would make two different values look alike.
    """
    if isinstance(value, Enum):
        return {"type": type(value).__name__, "value": value.value}
    if dataclasses.is_dataclass(value) and type(value).__name__ in _TYPES:
        stated = {field: getattr(value, field.name) for field in dataclasses.fields(value)}
        # What is None by default is left out, so that older documents keep their digests.
        fields = {
            field.name: to_json(item)
            for field, item in stated.items()
            if not (item is None and field.default is None)
        }
        return {"type": type(value).__name__, **fields}
    if isinstance(value, dict):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [to_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"type": "float", "value": repr(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{type(value).__name__} has no JSON form here.")


def from_json(data: Json) -> Any:
    """Reads back what `to_json` wrote; lists become tuples.

    Raises:
        ConfigurationError: for an unknown type, or fields that are unknown, missing or of another type.
    """
    if isinstance(data, list):
        return tuple(from_json(item) for item in data)
    if not isinstance(data, dict):
        return data
    name = data.get("type")
    if name == "float":
        return _special_float(data.get("value"))
    kind = _TYPES.get(str(name))
    if kind is None:
        raise ConfigurationError(
            f"every value must have a known type; got {name!r}. Is the file newer than this version?"
        )
    if issubclass(kind, Enum):
        try:
            return kind(data.get("value"))
        except ValueError as error:
            raise ConfigurationError(f"{name} must have a known value; {error}.") from None
    return build(kind, {key: from_json(item) for key, item in data.items() if key != "type"})


def _special_float(value: Json) -> float:
    """Returns an infinity or NaN, which JSON has no number for."""
    if value not in ("inf", "-inf", "nan"):
        raise ConfigurationError(f"a tagged float must be inf, -inf or nan; got {value!r}.")
    return float(str(value))


def canonical(data: Json) -> bytes:
    """Returns the one byte string that stands for ``data``: sorted keys, no spaces, no NaN."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def digest(data: Json) -> str:
    """Returns the SHA-256 of the canonical form, in hexadecimal."""
    return hashlib.sha256(canonical(data)).hexdigest()
