"""What ``discreet reproduce`` does: a paper's table or figure again, shown beside what was published."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from reproducing.carry_out import NOT_RUN, Choice, carry_out
from reproducing.catalogue import Reproduction, catalogue, find
from reproducing.context import Context
from reproducing.expected import Scale
from reproducing.figures import write_figure
from reproducing.outputs import read_computed, write_csv
from reproducing.rows import Computed, Row, Skipped, Verdict


def show_list(root: Path, *, as_json: bool) -> None:
    """Prints which reproductions there are below ``root``."""
    found = catalogue(root)
    if as_json:
        typer.echo(json.dumps({item.name: item.expectations.title for item in found}, indent=1))
        return
    table = Table(show_edge=False, pad_edge=False)
    for column in ("name", "what", "paper", "cells, small / full"):
        table.add_column(column)
    for item in found:
        cells = item.expectations.cells
        sizes = f"{len(cells[Scale.SMALL])} / {len(cells[Scale.FULL])}"
        table.add_row(item.name, item.expectations.title, item.expectations.paper, sizes)
    Console(highlight=False).print(table)


def carry_out_all(root: Path, name: str | None, request: Request, *, as_json: bool) -> bool:
    """Runs the reproduction ``name``, or all for None; prints them and says whether nothing failed."""
    chosen = catalogue(root) if name is None else (find(root, name),)
    found = {}
    for reproduction in chosen:
        found[reproduction.name] = rows = request.carried_out(reproduction)
        if not as_json:
            _show(reproduction, rows, request.stem(reproduction))
    every_row = [row for rows in found.values() for row in rows]
    if as_json:
        documents = {title: [_row_json(row) for row in rows] for title, rows in found.items()}
        typer.echo(json.dumps(documents, indent=1))
    else:
        Console(highlight=False).print(_summary(every_row))
    return not any(row.verdict.failed for row in every_row)


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for, whichever reproduction it is."""

    scale: Scale
    data: Path | None
    out: Path
    cell: str | None

    def stem(self, reproduction: Reproduction) -> Path:
        """Where CSV and figures go, without suffix."""
        return self.out / f"{reproduction.name}-{self.scale.value}"

    def carried_out(self, reproduction: Reproduction) -> tuple[Row, ...]:
        """Computes the wanted cells behind a progress bar and writes everything down."""
        stem = self.stem(reproduction)
        csv_file = stem.with_suffix(".csv")
        choice = Choice() if self.cell is None else Choice(self.cell, read_computed(csv_file))
        context = Context(self.scale, reproduction.folder, self.data, self.out / "cache")
        rows = _with_progress(reproduction, context, choice)
        write_csv(csv_file, rows)
        write_figure(stem.with_suffix(".svg"), reproduction, self.scale, rows)
        reproduction.draw(stem)
        return rows


def _with_progress(reproduction: Reproduction, context: Context, choice: Choice) -> tuple[Row, ...]:
    """Computes the wanted cells behind a progress bar."""
    console = Console(stderr=True, highlight=False)
    total = len(reproduction.expectations.cells[context.scale])
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(reproduction.name, total=total)

        def show(cell: str, done: int, _: int) -> None:
            bar.update(task, description=f"{reproduction.name}: {cell}", completed=done)

        return carry_out(reproduction, context, choice=choice, progress=show)


def _summary(rows: Sequence[Row]) -> str:
    """Says how many cells there were, what came of them, and why some were skipped."""
    verdicts = Counter(row.verdict for row in rows)
    counts = ", ".join(f"{verdicts[verdict]} {verdict.value}" for verdict in Verdict)
    reasons = Counter(row.cell.reason for row in rows if isinstance(row.cell, Skipped))
    skipped = "".join(f"\nskipped: {count}, because {reason}" for reason, count in sorted(reasons.items()))
    return f"{len(rows)} cells: {counts}{skipped}"


def _show(reproduction: Reproduction, rows: tuple[Row, ...], stem: Path) -> None:
    """Prints the cells that were asked for, and where everything is."""
    console = Console(highlight=False)
    console.print(_rows_table(reproduction, tuple(row for row in rows if not _not_run(row))))
    console.print(f"{stem.with_suffix('.csv')}, {stem.with_suffix('.svg')}\n")


def _not_run(row: Row) -> bool:
    return isinstance(row.cell, Skipped) and row.cell.reason == NOT_RUN


def _rows_table(reproduction: Reproduction, rows: tuple[Row, ...]) -> Table:
    """Returns published, reproduced and ours, a line for each cell."""
    expectations = reproduction.expectations
    table = Table(
        title=f"{expectations.title}, {expectations.paper}: {expectations.quantity}",
        title_justify="left", title_style="bold", show_edge=False, pad_edge=False)  # fmt: skip
    table.add_column("cell")
    for column in ("published", "reproduced", "ours"):
        table.add_column(column, justify="right")
    table.add_column("verdict")
    for row in rows:
        style = "bold red" if row.verdict.failed else ""
        table.add_row(row.cell.name, *_shown(row), style=style)
    return table


def _shown(row: Row) -> tuple[str, str, str, str]:
    published = _number(row.expected.published)
    match row.cell:
        case Computed(reproduced=reproduced, ours=ours):
            return published, _number(reproduced), _number(ours), row.verdict.value
        case Skipped(reason=reason):
            return published, "", "", f"skipped: {reason}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def _row_json(row: Row) -> dict[str, Any]:
    base = {"cell": row.cell.name, "published": row.expected.published, "verdict": row.verdict.value}
    match row.cell:
        case Computed(reproduced=reproduced, ours=ours, note=note):
            return base | {"reproduced": reproduced, "ours": ours, "note": note}
        case Skipped(reason=reason):
            return base | {"reason": reason}
