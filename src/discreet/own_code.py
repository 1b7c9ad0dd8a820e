"""Code of the user: leave to import it, and where it raised, in whatever was raised from it."""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from discreet.errors import ConfigurationError

# All but "data", which is the whole prefix: on many systems ``/usr``, with folders of users below it.
_NOT_OWN = (
    Path(__file__).resolve().parent,
    *(Path(folder).resolve() for name, folder in sysconfig.get_paths().items() if name != "data"),
)
# Of another interpreter, a user or a system, too: wherever such a folder lies, an installer fills it.
_INSTALLED = frozenset({"site-packages", "dist-packages"})


def require_leave(own_code: object, weights: object = None) -> None:
    """Refuses leave to import code that is no bool, for every text counts as true, and weights of no file.

    Raises:
        ConfigurationError: naming the argument.
    """
    if not isinstance(own_code, bool):
        raise ConfigurationError(f"own_code must be True or False; got {own_code!r}.")
    if not isinstance(weights, str | PathLike | None):
        raise ConfigurationError(f"weights must be the path of a file; got {type(weights).__name__}.")


def place_in_own_code(error: BaseException) -> str | None:
    """Returns the innermost place outside Python, installed packages and discreet, if there is one.

    Example:
        >>> place_in_own_code(ValueError("never raised")) is None
        True
    """
    for each in reversed(list(_causes(error))):
        for frame, line in reversed(list(traceback.walk_tb(each.__traceback__))):
            path = Path(frame.f_code.co_filename)
            if path.is_file() and _is_own(path):
                return f"{_near(path.resolve())}, line {line}, in {frame.f_code.co_name}"
    return None


def _is_own(path: Path) -> bool:
    # An installed file may be a link to a cache.
    real = path.resolve()
    return _INSTALLED.isdisjoint((*path.parts, *real.parts)) and not any(map(real.is_relative_to, _NOT_OWN))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yields an error and what it was raised from, outermost first."""
    current: BaseException | None = error
    while current is not None:
        yield current
        current = current.__cause__


def _near(path: Path) -> Path:
    """Returns a path as seen from the current folder, if it is below."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
