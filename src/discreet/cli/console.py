"""The console that every command prints to."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterable
from io import TextIOWrapper
from typing import TextIO

import typer
from rich.console import Console

from discreet.documents import shown

_LONGEST_NOTE = 5000
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
    from discreet.data.remarks import grouped  # and with it numpy, which help does without

    for note in grouped(notes):
        typer.echo(f"records: {shown(note, _LONGEST_NOTE)}", err=True)


def tell_of_model(caveats: Iterable[str]) -> None:
    """Writes what is known of a model, whatever it is used on, to the terminal, one line each."""
    for caveat in caveats:
        typer.echo(f"model: {shown(caveat, _LONGEST_NOTE)}", err=True)


# For terminals and pipes of another encoding than UTF-8; what is not here becomes a question mark.
_PLAIN = {
    "α": "alpha",
    "β": "beta",
    "γ": "gamma",
    "δ": "delta",
    "ε": "epsilon",
    "μ": "mu",
    "σ": "sigma",
    "²": "^2",
    "·": "*",
    "×": "x",
    "±": "+-",
    "−": "-",
    "–": "-",
    "≤": "<=",
    "≥": ">=",
    "√": "sqrt",
    "→": "->",
    "…": "...",
}
_SPELLED_OUT = "discreet-spelled-out"


def spell_out(stream: TextIO) -> None:
    """Makes a stream whose encoding lacks a letter write it out, so that no output ends in an error."""
    if isinstance(stream, TextIOWrapper) and not stream.encoding.lower().startswith("utf"):
        codecs.register_error(_SPELLED_OUT, _plain)
        stream.reconfigure(errors=_SPELLED_OUT)


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_PLAIN.get(letter, "?") for letter in lacking), error.end
