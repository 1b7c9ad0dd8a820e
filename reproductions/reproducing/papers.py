"""What papers print, and what became of it: the counts at the head of the results page."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from discreet.errors import ConfigurationError
from reproducing.rows import Verdict

Verdicts = Mapping[str, Mapping[str, Verdict]]


@dataclass(frozen=True, slots=True)
class PrintedTable:
    """A table or figure of a paper.

    Attributes:
        paper: whose it is.
        where: which one, and which of its numbers.
        reproductions: whose rows may be compared with it.
        printed: how many numbers it has, where their rows are not named.
        cell: how a number's row is called, with the names of axes in braces.
        axes: the labels that ``cell`` runs over.
        why: of numbers that nothing was compared with.
        variants: rows that are held to one of its numbers under another hypothesis; they count for nothing.
    """

    paper: str
    where: str
    reproductions: tuple[str, ...]
    printed: int = 0
    cell: str = ""
    axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    why: str = ""
    variants: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[str, ...]:
        """The names of the rows of its numbers; none where they are only counted."""
        if not self.cell:
            return ()
        combined = product(*self.axes.values())
        return tuple(self.cell.format_map(dict(zip(self.axes, labels, strict=True))) for labels in combined)


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of a table's numbers."""

    printed: int
    within: int
    outside: int

    @property
    def compared(self) -> int:
        """Numbers that a run was held to."""
        return self.within + self.outside

    @property
    def not_compared(self) -> int:
        """Numbers that nothing was held to."""
        return self.printed - self.compared


def read_papers(path: Path) -> tuple[PrintedTable, ...]:
    """Reads ``papers.toml``.

    Raises:
        ConfigurationError: if it is not a file of tables, or one gives neither axes nor a count.
    """
    try:
        with path.open("rb") as file:
            return tuple(_table(entry) for entry in tomllib.load(file)["tables"])
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(f"{path} must hold [[tables]] of what papers print; got: {error}.") from None


def tally(table: PrintedTable, verdicts: Verdicts) -> Tally:
    """Counts what became of a table's numbers.

    Args:
        table: what the paper prints.
        verdicts: by reproduction and cell, of the largest scale that was run.
    """
    found = [
        rows[name]
        for rows in (verdicts.get(reproduction, {}) for reproduction in table.reproductions)
        for name in table.rows
        if name in rows
    ]
    printed = len(table.rows) if table.cell else table.printed
    return Tally(printed, found.count(Verdict.WITHIN), found.count(Verdict.OUTSIDE))


def _table(entry: dict[str, Any]) -> PrintedTable:
    if ("cell" in entry) == ("printed" in entry) or ("cell" in entry) != ("axes" in entry):
        raise ValueError(f"{entry.get('where')!r} needs either 'cell' and 'axes' or 'printed'")
    lists = {key: tuple(entry[key]) for key in ("reproductions", "variants") if key in entry}
    axes = {name: tuple(labels) for name, labels in entry.get("axes", {}).items()}
    return PrintedTable(**(entry | lists | {"axes": axes}))
