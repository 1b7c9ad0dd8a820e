"""Arguments that a program names wrong: which argument or object holds what it meant."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from discreet.config.problems import tables_with
from discreet.errors import ConfigurationError

P = ParamSpec("P")
R = TypeVar("R")

_OF_FRAMES = ("label", "label_range", "ranges", "categories", "classes", "dates", "bins", "missing", "drop")
_HELD_BY = {
    **{name: f"discreet.Frames(..., {name}=...)" for name in _OF_FRAMES},
    "epsilon": "target=discreet.Target(epsilon=...)",
    "delta": "target=discreet.Target(..., delta=...)",
    "unit": "target=discreet.Target(..., unit=...)",
    "against": "target=discreet.Target(..., against=...)",
    "capacity": "public(capacity=...) of Frames or Arrays",
    "record_capacity": "public(capacity=...) of Frames or Arrays",
    "person": "Frames(..., person={...})",
    "processes": "train(..., speed=discreet.config.SpeedConfig(workers=...))",
    "workers": "train(..., speed=discreet.config.SpeedConfig(workers=...))",
    "device": "train(..., speed=discreet.config.SpeedConfig(device=...))",
    "seed": "train(..., seed=...)",
    "compare": "train(..., compare=...)",
    "out": "train(..., out=...)",
    "resume": 'train(..., opening="resume")',
    "overwrite": 'train(..., opening="overwrite")',
    "weights": "predict(records, weights=FILE) of a run, or load_model(..., weights=FILE)",
    "transform": "Arrays(..., features=...), a map or a function of one record; a network with a file of "
    "weights is for an .npz file and a config (docs/how-to/fine-tune.md)",
    "pretrained": "the weights of features to a function of one record, Arrays(..., features=...), and those "
    "that a linear model begins at to plan_training(..., pretrained=...); a network with a file of weights "
    "is for an .npz file and a config (docs/how-to/fine-tune.md)",
}
"""What most people look for, where it is no argument of the function that they called."""

_NO_TABLES = ("data", "model", "silos", "segments")
"""Arguments by the name of a table that take something else: a name, several tables."""


def known_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Says where an argument belongs that a function does not take, and which one it lacks.

    The function raises a `ConfigurationError` where Python's own TypeError would only say the name.

    Example:
        >>> known_arguments(lambda *, privacy=None: privacy)(clip_norm=1.0)
        Traceback (most recent call last):
        ...
        discreet.errors.ConfigurationError: <lambda> takes no 'clip_norm'. Give privacy={"clip_norm": ...}.
    """
    signature, called = inspect.signature(function), function.__qualname__.removesuffix(".__init__")
    names = [name for name in signature.parameters if name != "self"]

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in signature.parameters:
                raise ConfigurationError(f"{called} takes no {name!r}. {_where(name, names)}")
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ConfigurationError(f"{called}: {error}. It takes: {', '.join(names)}.") from None
        return function(*args, **kwargs)

    return checked


def known_fields(kind: type[R]) -> type[R]:
    """Does the same for what a value is made of."""
    setattr(kind, "__init__", known_arguments(kind.__init__))  # noqa: B010  mypy lets no method be assigned
    return kind


def _where(name: str, parameters: list[str]) -> str:
    """Says where an argument belongs that a function does not take."""
    if name in _HELD_BY:
        return f"Give {_HELD_BY[name]}."
    tables = sorted(tables_with(name), key=lambda table: table in ("silos", "training.segments"))
    for table in tables:
        own = table.rpartition(".")[2]
        if own in parameters and own not in _NO_TABLES:
            return f'Give {own}={{"{name}": ...}}.'
    if nearest := difflib.get_close_matches(name, parameters, n=1, cutoff=0.6 if not tables else 0.85):
        return f"Did you mean {nearest[0]!r}?"
    if tables:
        return (
            f"It is a key of the table {tables[0]!r} of a config: plan with it, or state it in a file or in "
            "discreet.parse_config({...}), and give train the config."
        )
    return f"It takes: {', '.join(parameters)}."
