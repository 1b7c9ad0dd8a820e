"""What the command says when something went wrong: one line, where the user's own code raised, no values.

The trace is printed only where it was asked for (``-v``), by the standard library, which prints no local
variables: they may hold records, keys, or the whole environment.
"""

from __future__ import annotations

import traceback

from rich.console import Console

from discreet.documents import shown
from discreet.errors import EXIT_BAD_REQUEST, DiscreetError, in_words
from discreet.own_code import place_in_own_code

_LONGEST = 5000
_EXIT_UNEXPECTED = 1


def report(error: Exception | SystemExit, *, verbose: bool) -> int:
    """Prints ``error`` to standard error and returns the exit code of the command.

    A deliberate error is its message, and the page that helps; an error of the machine names the file; any
    other is a defect, or raised by code of the user, whose place is given; so is a ``sys.exit`` there.
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


def _said(error: Exception | SystemExit) -> str:
    """Returns the message, in one line."""
    if isinstance(error, DiscreetError):
        return f"{error}" if error.see is None else f"{error} See {error.see.value}."
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    if isinstance(error, SystemExit):
        return f"code of your own must return or raise, and not end the program; it called {in_words(error)}."
    return in_words(error)
