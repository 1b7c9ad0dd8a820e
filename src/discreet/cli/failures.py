"""What the command says when something went wrong: one line, where the user's own code raised, no values.

The trace is printed only where it was asked for (``-v``), by the standard library, which prints no local
variables: they may hold records, keys, or the whole environment.
"""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

import discreet
from discreet.documents import shown
from discreet.errors import EXIT_BAD_REQUEST, DiscreetError

_LONGEST = 5000
_EXIT_UNEXPECTED = 1
# All but "data", which is the whole prefix: on many systems ``/usr``, with folders of users below it.
_NOT_OWN = (
    Path(discreet.__file__).parent,
    *(Path(folder).resolve() for name, folder in sysconfig.get_paths().items() if name != "data"),
)


def report(error: Exception, *, verbose: bool) -> int:
    """Prints ``error`` to standard error and returns the exit code of the command.

    A deliberate error is its message, and the page that helps; an error of the machine names the file; any
    other is a defect, or raised by code of the user, whose place is given.
    """
    if verbose:
        traceback.print_exception(error)
    lines = [f"error: {_said(error)}", *getattr(error, "__notes__", ())]
    place = place_in_own_code(error)
    if place is not None:
        lines.append(f"raised in {place}")
    if not isinstance(error, DiscreetError | OSError) and not verbose:
        lines.append("`discreet -v ...` prints the trace")
    # What is quoted may come from elsewhere, such as a plan that an owner looks at.
    text = "\n  ".join(shown(line, _LONGEST) for line in lines)
    Console(stderr=True, highlight=False, soft_wrap=True).print(text, markup=False)
    if isinstance(error, DiscreetError):
        return error.exit_code
    return EXIT_BAD_REQUEST if isinstance(error, OSError) else _EXIT_UNEXPECTED


def _said(error: Exception) -> str:
    """Returns the message, in one line."""
    if isinstance(error, DiscreetError):
        return f"{error}" if error.see is None else f"{error} See {error.see.value}."
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return f"{type(error).__name__}: {error}"


def place_in_own_code(error: BaseException) -> str | None:
    """Returns the innermost place outside Python, installed packages and discreet, if there is one.

    Example:
        >>> place_in_own_code(ValueError("never raised")) is None
        True
    """
    for each in reversed(list(_causes(error))):
        for frame, line in reversed(list(traceback.walk_tb(each.__traceback__))):
            path = Path(frame.f_code.co_filename)
            if path.is_file() and not any(path.resolve().is_relative_to(folder) for folder in _NOT_OWN):
                return f"{_near(path.resolve())}, line {line}, in {frame.f_code.co_name}"
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yields an error and what it was raised from, outermost first."""
    current: BaseException | None = error
    while current is not None:
        yield current
        current = current.__cause__


def _near(path: Path) -> Path:
    """Returns a path as seen from the current folder, if it is below."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
