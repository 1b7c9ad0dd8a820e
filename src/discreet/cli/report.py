"""``discreet report``: write the report of a finished or interrupted run again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.report import write_report
from discreet.verify import seal_report


def report(
    directory: Annotated[Path, typer.Argument(help="The directory of a run.", show_default=False)],
) -> None:
    """Write report.html and report.json from the files of a run.

    Example: [bold]discreet report runs/heart[/bold]
    """
    page = write_report(directory)
    seal_report(directory)
    typer.echo(str(page))
