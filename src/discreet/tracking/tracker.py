"""What every tracker offers, and what is said when the package behind one is missing."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Protocol, Self

from discreet.errors import ConfigurationError


class Tracker(Protocol):
    """Takes numbers by name for each round; a context manager that flushes when it ends."""

    def record(self, release: int, values: Mapping[str, float]) -> None:
        """Records the values of one released round."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: object, error: object, trace: object, /) -> None: ...


def optional(module: str, *, option: str, extra: str) -> Any:
    """Imports a package that only a tracker needs.

    Raises:
        ConfigurationError: naming the extra to install.

    Example:
        >>> optional("no_such_package", option="--board", extra="board")
        Traceback (most recent call last):
        discreet.errors.ConfigurationError: --board must find its package; it is not installed. \
Run: pip install 'discreet[board]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        raise ConfigurationError(
            f"{option} must find its package; it is not installed. Run: pip install 'discreet[{extra}]'"
        ) from None
