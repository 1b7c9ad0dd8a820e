"""A model or a feature map of the user's own: the name by which other parties and programs import it."""

from __future__ import annotations

import sys

from discreet.errors import ConfigurationError


def importable_name(factory: object, what: str, expected: str) -> str:
    """Returns ``module:name`` of what makes a model, or is a feature map.

    Args:
        factory: a function or a class.
        what: what it is for, in messages.
        expected: what to give instead, in messages.

    Raises:
        ConfigurationError: if it would not be found again by that name: a lambda, a closure, a method, what a
            decorator hides, or a model that is made already.

    Example:
        >>> from discreet.models.networks import mlp
        >>> importable_name(mlp, "model", "a function")
        'discreet.models.networks:mlp'
    """
    instead = f"Give {expected} that is defined at the top of a module or program."
    name, module = getattr(factory, "__qualname__", None), getattr(factory, "__module__", None)
    if not (callable(factory) and isinstance(name, str) and isinstance(module, str)):
        raise ConfigurationError(
            f"the {what} must be a function or a class that can be imported again; got a {_kind(factory)}. "
            f"{instead}"
        )
    if not name.isidentifier():
        raise ConfigurationError(
            f"the {what} must be importable by its name; {name!r} of {module!r} is a lambda, or lies inside "
            f"a function or a class. {instead}"
        )
    found = getattr(sys.modules.get(module), name, None)
    if found is not factory:
        there = "nothing" if found is None else f"another {_kind(found)}"
        raise ConfigurationError(
            f"the {what} must be what its name imports; by {module + ':' + name!r} there is {there}. "
            "Give what is defined there now, or rename it."
        )
    return f"{module}:{name}"


def _kind(value: object) -> str:
    return type(value).__name__
