"""What of a column's cells a public rule could not read, and how its owner is told."""

from __future__ import annotations

import json
from dataclasses import dataclass


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
    indicator = f'blank cells need missing = {{ {json.dumps(column)} = "indicator" }}'
    return indicator if found.blank == found.unread else f"{indicator}; {otherwise}"


def clipped_note(
    name: str, rows: int, column: str, found: Unusable, *, limits: str, knob: str
) -> tuple[str, ...]:
    """Returns a line about cells outside of a range; nothing if there are none."""
    if not found.outside:
        return ()
    return (
        f"{name}, column {column!r}: {found.outside} of {rows} cells are outside {limits} and are clipped to "
        f"it. If that is more than mistakes, widen the range by public knowledge: {knob}.",
    )
