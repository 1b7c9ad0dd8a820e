"""A model given as a function or a class: the name by which other parties and programs import it."""

from __future__ import annotations

import sys

from discreet.errors import ConfigurationError

_INSTEAD = (
    "Give a function of (feature_shape, num_classes), or a class of module, that is defined at the top of a "
    "module or program."
)


def importable_name(factory: object) -> str:
    """Returns ``module:name`` of what makes a model.

    Raises:
        ConfigurationError: if it would not be found again by that name: a lambda, a closure, a method, what a
            decorator hides, or a model that is made already.

    Example:
        >>> from discreet.models.networks import mlp
        >>> importable_name(mlp)
        'discreet.models.networks:mlp'
    """
    name, module = getattr(factory, "__qualname__", None), getattr(factory, "__module__", None)
    if not (callable(factory) and isinstance(name, str) and isinstance(module, str)):
        raise ConfigurationError(
            f"the model must be a function or a class that can be imported again; got a {_kind(factory)}. "
            f"{_INSTEAD}"
        )
    if not name.isidentifier():
        raise ConfigurationError(
            f"the model must be importable by its name; {name!r} of {module!r} is a lambda, or lies inside a "
            f"function or a class. {_INSTEAD}"
        )
    found = getattr(sys.modules.get(module), name, None)
    if found is not factory:
        there = "nothing" if found is None else f"another {_kind(found)}"
        raise ConfigurationError(
            f"the model must be what its name imports; by {module + ':' + name!r} there is {there}. "
            "Give what is defined there now, or rename it."
        )
    return f"{module}:{name}"


def _kind(value: object) -> str:
    return type(value).__name__
