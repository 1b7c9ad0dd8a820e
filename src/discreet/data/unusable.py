"""What of a column's cells a public rule could not read, and how its owner is told."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from discreet.data.table import ACCEPT

_WIDEN = " If that is more than mistakes,"


@dataclass(frozen=True, slots=True)
class Unusable:
    """How many cells a rule could not read as they are.

    Attributes:
        unread: hold nothing that the rule reads, and no feature says so.
        blank: those of ``unread`` that are empty.
        outside: are outside of the range, and were clipped.
    """

    unread: int = 0
    blank: int = 0
    outside: int = 0

    def __add__(self, other: Unusable) -> Unusable:
        return Unusable(self.unread + other.unread, self.blank + other.blank, self.outside + other.outside)


def accept(column: str, found: Unusable, otherwise: str) -> str:
    """Says which public rule would accept cells that could not be read."""
    if not found.blank:
        return otherwise
    indicator = f'blank cells need missing = {{ {json.dumps(column, ensure_ascii=False)} = "indicator" }}'
    return indicator if found.blank == found.unread else f"{indicator}; {otherwise}"


def accept_in_numbers(column: str, rows: int, found: Unusable, *, missing: bool) -> str:
    """Says which public rule would accept cells of a column of numbers that hold none.

    Args:
        column: its name.
        rows: how many the file has.
        found: of the file.
        missing: whether a feature says that a cell is missing already.
    """
    name = json.dumps(column, ensure_ascii=False)
    if found.unread == rows > found.blank:
        texts = f'categories = {{ {name} = ["TEXT", "OTHER TEXT"] }}'
        return (
            "numbers with another decimal sign need decimal; a column of texts needs "
            f"{texts} in place of its range"
        )
    if missing:
        return "empty the cells that hold a text for missing, such as NA"
    cells = "blank cells" if found.blank == found.unread else "cells that are blank or hold a text such as NA"
    return f'{cells} need missing = {{ {name} = "indicator" }}, or a number in their place'


def without_advice(notes: Iterable[str]) -> tuple[str, ...]:
    """Returns notes of rows that train nothing: no rule can be changed for them any more."""
    return tuple(note.partition(ACCEPT)[0].partition(_WIDEN)[0] for note in notes)


def clipped_note(
    name: str, rows: int, column: str, found: Unusable, *, limits: str, knob: str
) -> tuple[str, ...]:
    """Returns a line about cells outside of a range; nothing if there are none."""
    if not found.outside:
        return ()
    return (
        f"{name}, column {column!r}: {found.outside} of {rows} cells are outside {limits} and are clipped to "
        f"it.{_WIDEN} widen the range by public knowledge: {knob}.",
    )
