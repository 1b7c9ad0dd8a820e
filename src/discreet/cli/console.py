"""The console that every command prints to."""

from __future__ import annotations

import os

from rich.console import Console

# Pipes and log files have no width of their own; tables need about this much.
_WIDTH_ELSEWHERE = 110


def console(*, stderr: bool = False) -> Console:
    """Returns a console as wide as the terminal or COLUMNS, or wide enough for tables without either."""
    made = Console(stderr=stderr, highlight=False)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made = Console(stderr=stderr, highlight=False, width=_WIDTH_ELSEWHERE)
    return made
