"""Importing what a plan names by ``module:name``: a model's factory, or a feature map."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from discreet.errors import ConfigurationError
from discreet.kinds.model_facts import defined_in_main


def imported(spec: str, what: str) -> Callable[..., Any]:
    """Returns what ``module:name`` names; ``what`` says in messages what it should be.

    Raises:
        ConfigurationError: if it cannot be imported, or called.
    """
    module_name, _, attribute = spec.partition(":")
    try:
        found = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        where = " Build it in the program that defines it, or move it into a module." * defined_in_main(spec)
        raise ConfigurationError(f"Cannot import {what} {spec!r}: {error}.{where}") from error
    if not callable(found):
        raise ConfigurationError(
            f"{what.capitalize()} {spec!r} must be callable; got {type(found).__name__}."
        )
    called: Callable[..., Any] = found
    return called
