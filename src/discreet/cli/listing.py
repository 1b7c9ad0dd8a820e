"""A table that a narrow terminal never cuts: where it does not fit, every row becomes a few lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

_INDENT = 2
# A column's padding on both sides and the rule between.
_GAP = 3
# A column of words that is narrower than this is hard to read.
_LEAST_WRAPPED = 24


@dataclass(frozen=True, slots=True)
class Listing:
    """A table with a title; a rich renderable.

    Guarantee:
        Every cell is shown whole at any width. Only one column is wrapped in a table; one that would need
        more is shown row by row, a line a cell.

    Attributes:
        title: above the table.
        columns: titles, which may be of several lines.
        rows: cells, the first of which names the row; a row may be shorter than ``columns``.
        numeric: titles of the columns that are aligned to the right.
        wraps: place of the column that may be wrapped.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[str] = frozenset()
    wraps: int = 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if options.max_width >= self._least_width():
            yield self._table()
            return
        yield Text(self.title, style="bold", overflow="fold")
        names = [title.replace("\n/", "/").replace("\n", " ") for title in self.columns]
        for row in self.rows:
            yield Text(row[0], overflow="fold")
            yield Padding(_lines(list(zip(names[1:], row[1:], strict=False))), (0, 0, 0, _INDENT))

    def _least_width(self) -> int:
        """Returns how wide the table is with its long column wrapped."""
        widths = [
            max(map(cell_len, (*title.splitlines(), *self._cells(place))))
            for place, title in enumerate(self.columns)
        ]
        widths[self.wraps] = min(widths[self.wraps], _LEAST_WRAPPED)
        return sum(widths) + _GAP * (len(widths) - 1)

    def _cells(self, place: int) -> Sequence[str]:
        return [row[place] for row in self.rows if place < len(row)]

    def _table(self) -> Table:
        made = Table(
            title=Text(self.title), title_justify="left", title_style="bold", show_edge=False, pad_edge=False
        )
        for place, title in enumerate(self.columns):
            justify = "right" if title in self.numeric else "left"
            made.add_column(Text(title), justify=justify, no_wrap=place != self.wraps, overflow="fold")  # type: ignore[arg-type]
        for row in self.rows:
            made.add_row(*map(Text, row))
        return made


def facts_table(title: str, rows: Sequence[tuple[str, str]]) -> Table:
    """Returns names beside values, a line each, both wrapped where they are long and never cut."""
    made = _lines(rows)
    made.title, made.title_justify, made.title_style = title, "left", "bold"
    return made


def _lines(rows: Sequence[tuple[str, str]]) -> Table:
    made = Table(show_edge=False, show_header=False, pad_edge=False, box=None)
    made.add_column(style="dim", overflow="fold")
    made.add_column(overflow="fold")
    for name, value in rows:
        made.add_row(Text(name), Text(value))
    return made
