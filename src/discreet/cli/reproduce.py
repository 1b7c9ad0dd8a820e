"""``discreet reproduce``: run a paper's table or figure again and compare."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from discreet.errors import ConfigurationError
from discreet.reproduction import (
    NOT_RUN,
    Choice,
    Computed,
    Context,
    Reproduction,
    Row,
    Scale,
    Skipped,
    Verdict,
    carry_out,
    catalogue,
    find,
    read_computed,
    write_csv,
    write_figure,
)

DATA_VARIABLE = "DISCREET_DATA"


def reproduce(
    name: Annotated[str | None, typer.Argument(help="A reproduction; left out, they are listed.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Run all of them.")] = False,
    scale: Annotated[Scale, typer.Option(help="How much to compute.")] = Scale.SMALL,
    data_dir: Annotated[
        Path | None, typer.Option(help=f"Folder of the real data sets; else ${DATA_VARIABLE}.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for CSV and figure.")] = Path("runs/reproduce"),
    root: Annotated[Path, typer.Option("--from", help="Folder of the reproductions.")] = Path(
        "reproductions"
    ),
    cell: Annotated[
        str | None,
        typer.Option(help="Compute only long cells that match; the others keep what OUT's CSV says."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON.")] = False,
) -> None:
    """Run reproductions; exit code 1 if a number is outside its tolerance, 0 if none is.

    Cells that need data which are not here, or that were not asked for, are skipped, counted and named.

    Example: [bold]discreet reproduce p1-table1[/bold]
    """
    if every == (name is not None):
        if every:
            raise ConfigurationError("NAME and --all exclude each other; give one of them.")
        _list(catalogue(root), as_json=as_json)
        return
    request = _Request(scale, _data_folder(data_dir), out, cell)
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
        Console(highlight=False).print(summary(every_row))
    if any(row.verdict is Verdict.OUTSIDE for row in every_row):
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True)
class _Request:
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


def _data_folder(option: Path | None) -> Path | None:
    """Returns the folder of data sets and tells the scripts' data sources about it."""
    if option is None:
        variable = os.environ.get(DATA_VARIABLE)
        return Path(variable) if variable else None
    os.environ[DATA_VARIABLE] = str(option)
    return option


def _with_progress(reproduction: Reproduction, context: Context, choice: Choice) -> tuple[Row, ...]:
    """Computes the wanted cells behind a progress bar."""
    console = Console(stderr=True, highlight=False)
    total = len(reproduction.expectations.cells[context.scale])
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(reproduction.name, total=total)

        def show(cell: str, done: int, _: int) -> None:
            bar.update(task, description=f"{reproduction.name}: {cell}", completed=done)

        return carry_out(reproduction, context, choice=choice, progress=show)


def summary(rows: Sequence[Row]) -> str:
    """Says how many cells there were, what came of them, and why some were skipped."""
    verdicts = Counter(row.verdict for row in rows)
    counts = ", ".join(f"{verdicts[verdict]} {verdict.value}" for verdict in Verdict)
    reasons = Counter(row.cell.reason for row in rows if isinstance(row.cell, Skipped))
    skipped = "".join(f"\nskipped: {count}, because {reason}" for reason, count in sorted(reasons.items()))
    return f"{len(rows)} cells: {counts}{skipped}"


def _list(found: tuple[Reproduction, ...], *, as_json: bool) -> None:
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


def _show(reproduction: Reproduction, rows: tuple[Row, ...], stem: Path) -> None:
    """Prints the cells that were asked for, and where everything is."""
    console = Console(highlight=False)
    console.print(rows_table(reproduction, tuple(row for row in rows if not _not_run(row))))
    console.print(f"{stem.with_suffix('.csv')}, {stem.with_suffix('.svg')}\n")


def _not_run(row: Row) -> bool:
    return isinstance(row.cell, Skipped) and row.cell.reason == NOT_RUN


def rows_table(reproduction: Reproduction, rows: tuple[Row, ...]) -> Table:
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
        style = "bold red" if row.verdict is Verdict.OUTSIDE else ""
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
