"""``discreet report``: write the report of a finished or interrupted run again, with budgets, and sign it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.session import report_again
from discreet.silo.policy import load_key


def report(
    directory: Annotated[Path, typer.Argument(help="The directory of a run.", show_default=False)],
    policy: Annotated[
        list[Path] | None,
        typer.Option(help="A silo's policy.toml, or a folder of silos: show its budget. Repeatable."),
    ] = None,
    sign: Annotated[
        Path | None, typer.Option(help="The coordinator's private key, of `discreet silo keygen`.")
    ] = None,
) -> None:
    """Write report.html and report.json from the files of a run.

    With --policy they show what the training used of each silo's budget; what the policy states stays beside
    the run in budgets.json.

    Example: [bold]discreet report runs/heart --sign coordinator.key[/bold]
    """
    identity = None if sign is None else load_key(sign)
    typer.echo(str(report_again(directory, identity, policy or ())))
