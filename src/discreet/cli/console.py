"""The console that every command prints to."""

from __future__ import annotations

import os
from collections.abc import Iterable

import typer
from rich.console import Console

# Pipes and log files have no width of their own; tables need about this much.
_WIDTH_ELSEWHERE = 110


def console(*, stderr: bool = False) -> Console:
    """Returns a console as wide as the terminal or COLUMNS, or wide enough for tables without either."""
    made = Console(stderr=stderr, highlight=False)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made = Console(stderr=stderr, highlight=False, width=_WIDTH_ELSEWHERE)
    return made


def tell_owner(notes: Iterable[str]) -> None:
    """Writes what the owner of the records should know of them to the terminal, one line each."""
    for note in notes:
        typer.echo(f"records: {note}", err=True)
