"""A dataclass from fields that somebody else wrote: each has the type that the class declares."""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from discreet.errors import ConfigurationError

T = TypeVar("T")


def build(kind: type[T], fields: Mapping[str, object]) -> T:
    """Returns ``kind(**fields)`` once names and types are right; values are taken as they are.

    Understands what values of this package are made of: numbers, text, enums, dataclasses, None, unions,
    tuples and mappings. A float may be given as an integer and may be infinite, never NaN.

    Raises:
        ConfigurationError: for a field that is unknown, missing, or of another type, or that ``kind``
            itself refuses.
    """
    if not isinstance(fields, Mapping):
        raise ConfigurationError(f"{kind.__name__} must be a table; got {type(fields).__name__}.")
    hints = _hints(typing.cast("Any", kind))
    for name, value in fields.items():
        if name not in hints:
            raise ConfigurationError(f"{kind.__name__} cannot be read: it has no field {name!r}.")
        if not fits(value, hints[name]):
            raise ConfigurationError(
                f"'{name}' of {kind.__name__} must have the type that it was written with; "
                f"got {type(value).__name__}."
            )
    try:
        return kind(**fields)
    except TypeError as error:
        raise ConfigurationError(f"{kind.__name__} cannot be read: {error}.") from None


def fits(value: object, hint: Any) -> bool:
    """Says whether a value has a type, in depth; True and False are no numbers.

    Example:
        >>> fits((1, 2), tuple[int, ...]), fits(("1",), tuple[int, ...]), fits(True, int)
        (True, False, False)
    """
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, part) for part in parts)
    if origin is tuple:
        return isinstance(value, tuple) and all(fits(item, parts[0]) for item in value)
    if origin is Mapping:
        return isinstance(value, dict) and all(
            fits(key, parts[0]) and fits(item, parts[1]) for key, item in value.items()
        )
    if hint is float:
        return type(value) in (int, float) and not math.isnan(typing.cast("float", value))
    if hint in (int, bool, str, types.NoneType):
        return type(value) is hint
    return isinstance(value, hint)


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    """Returns the types of a dataclass's fields by name."""
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}
