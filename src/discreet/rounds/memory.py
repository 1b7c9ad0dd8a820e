"""The server rule's memory as named arrays, so that a checkpoint holds it and a resumed run continues it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[Any]]


def to_arrays(state: Any, prefix: str = "server") -> Arrays:
    """Returns every number and array of a (nested) dataclass under its dotted name.

    Raises:
        TypeError: for a field that is neither a number, an array nor a dataclass.
    """
    arrays: Arrays = {}
    for field in dataclasses.fields(state):
        value, name = getattr(state, field.name), f"{prefix}.{field.name}"
        if dataclasses.is_dataclass(value):
            arrays.update(to_arrays(value, name))
        elif isinstance(value, int | float | np.ndarray):
            arrays[name] = np.atleast_1d(np.asarray(value))
        else:
            raise TypeError(f"{name} must be a number, an array or a dataclass; got {type(value).__name__}.")
    return arrays


def from_arrays(template: Any, arrays: Mapping[str, npt.NDArray[Any]], prefix: str = "server") -> Any:
    """Returns a state like ``template`` with the numbers and arrays that `to_arrays` named.

    Raises:
        KeyError: if one is missing.
    """
    values: dict[str, Any] = {}
    for field in dataclasses.fields(template):
        value, name = getattr(template, field.name), f"{prefix}.{field.name}"
        if dataclasses.is_dataclass(value):
            values[field.name] = from_arrays(value, arrays, name)
        elif isinstance(value, np.ndarray):
            values[field.name] = arrays[name]
        else:
            values[field.name] = type(value)(arrays[name][0])
    return type(template)(**values)
