"""What papers print, and what became of it: the counts at the head of the results page."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from discreet.errors import ConfigurationError
from reproducing.carry_out import NOT_RUN
from reproducing.rows import Verdict

Verdicts = Mapping[str, Mapping[str, Verdict]]
Reasons = Mapping[str, Mapping[str, str]]


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
        why: nothing has a row for a number.
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
    """What became of a table's numbers.

    Attributes:
        printed: all of them.
        within: those that a run was held to and met.
        outside: those that a run was held to and missed.
        left: how many nothing was held to, by the reason.
    """

    printed: int
    within: int
    outside: int
    left: Mapping[str, int]

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


def tally(table: PrintedTable, verdicts: Verdicts, reasons: Reasons) -> Tally:
    """Counts what became of a table's numbers.

    Args:
        table: what the paper prints.
        verdicts: by reproduction and cell, of the largest scale that was run.
        reasons: why a cell is not held to what the paper prints, by reproduction and cell.
    """
    if not table.cell:
        return Tally(table.printed, 0, 0, {table.why: table.printed} if table.printed else {})
    met: Counter[Verdict] = Counter()
    left: Counter[str] = Counter()
    for cell in table.rows:
        name = next((name for name in table.reproductions if cell in verdicts.get(name, {})), None)
        verdict = None if name is None else verdicts[name][cell]
        if name is None or verdict is None:
            left[table.why] += 1
        elif verdict.against_paper:
            met[verdict] += 1
        elif verdict is Verdict.SKIPPED:
            left[NOT_RUN] += 1
        else:
            left[reasons.get(name, {}).get(cell) or verdict.value] += 1
    return Tally(len(table.rows), met[Verdict.WITHIN], met[Verdict.OUTSIDE], dict(left.most_common()))


def _table(entry: dict[str, Any]) -> PrintedTable:
    if ("cell" in entry) == ("printed" in entry) or ("cell" in entry) != ("axes" in entry):
        raise ValueError(f"{entry.get('where')!r} needs either 'cell' and 'axes' or 'printed'")
    lists = {key: tuple(entry[key]) for key in ("reproductions", "variants") if key in entry}
    axes = {name: tuple(labels) for name, labels in entry.get("axes", {}).items()}
    return PrintedTable(**(entry | lists | {"axes": axes}))
