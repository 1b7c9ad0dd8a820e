"""A federation made by the user's own code: ``module:function``."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from importlib.util import find_spec
from typing import Any

from discreet.data.federation import Federation
from discreet.data.table import nearest_hint
from discreet.errors import DataError, DiscreetError, in_words


class OwnCodeFailed(DataError):
    """The user's own function raised, ended or returned what does not fit; its records may have caused it."""


def is_reference(source: object) -> bool:
    """Says whether a source is ``module:function``."""
    if not isinstance(source, str):
        return False
    head, colon, _ = source.partition(":")
    return bool(colon) and head not in ("csv", "parquet", "npz")


@contextmanager
def returned_by(source: object) -> Iterator[None]:
    """Takes what is found wrong with the records of a ``module:function`` for a failure of that function.

    A refusal of this machine's kernels counts as well: the function's records decide their shape, and where
    it fails before, nothing is measured.

    Raises:
        OwnCodeFailed: in place of a `DiscreetError`, where the source is one.
    """
    try:
        yield
    except DiscreetError as error:
        if is_reference(source):
            raise OwnCodeFailed(str(error)) from error
        raise


def federation_of_function(reference: str, *, test_fraction: float, split_seed: int) -> Federation:
    """Imports ``module:function`` and calls it with ``test_fraction`` and ``split_seed``.

    Raises:
        DataError: if there is no such module.
        OwnCodeFailed: if anything else goes wrong: the module may read records when it is imported, and have
            a function or none by what they hold; the function raises an exception, would end the program, or
            does not return a `Federation`.
    """
    module_name, _, function_name = reference.partition(":")
    # Asked before any code of the owner's runs, since that may say of itself that it is missing.
    if (missing := _missing_part(module_name)) is not None:
        raise DataError(
            f"the data source {reference!r} must name an importable module; there is none named "
            f"{missing!r}. Install it, or add its folder to PYTHONPATH."
        )
    try:
        function = _function(module_name, function_name)
        federation = function(test_fraction=test_fraction, split_seed=split_seed)
    except OwnCodeFailed:
        raise
    except (Exception, SystemExit) as error:
        what = f"{'called' if isinstance(error, SystemExit) else 'raised'} {in_words(error).rstrip('.')}"
        raise OwnCodeFailed(
            f"the data source {reference!r} must return a Federation whatever its records hold; it {what}."
        ) from error
    if not isinstance(federation, Federation):
        raise OwnCodeFailed(
            f"the data source {reference!r} must return a Federation; got {type(federation).__name__}."
        )
    return federation


def _missing_part(module_name: str) -> str | None:
    """Returns the first package or module of a dotted name that is nowhere; None if all are. Runs none."""
    name, within = "", None
    for part in module_name.split("."):
        name = f"{name}.{part}".lstrip(".")
        if (loaded := sys.modules.get(name)) is not None:
            within = getattr(loaded, "__path__", ())
            continue
        try:
            # Of a part inside a package `find_spec` would import the package.
            found = (
                find_spec(name) if part and within is None else part and PathFinder.find_spec(name, within)
            )
        except KeyError:
            return None  # a folder without __init__.py in a package: Python tells only when it is imported
        if not found:
            return name
        within = found.submodule_search_locations or ()
    return None


def _function(module_name: str, function_name: str) -> Callable[..., Any]:
    module = importlib.import_module(module_name)
    function = getattr(module, function_name, None)
    if not callable(function):
        raise OwnCodeFailed(
            f"{function_name!r} of {module_name}, the data source, must be a function; it is none."
            f"{nearest_hint(function_name, [name for name in vars(module) if not name.startswith('_')])}"
        )
    found: Callable[..., Any] = function
    return found
