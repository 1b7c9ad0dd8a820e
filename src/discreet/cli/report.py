"""``discreet report``: write the report of a finished or interrupted run again, with budgets, and sign it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.plan import load_plan
from discreet.policy import load_key
from discreet.report import state_budgets, write_report
from discreet.rounds import RunDirectory
from discreet.verify import manifest_digest, require_key, seal_report
from discreet.verify import sign as sign_run


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
    require_key(directory, identity)
    if identity is not None:
        manifest_digest(directory)  # an unfinished run has none, and cannot be signed
    if policy:
        run = RunDirectory(directory)
        state_budgets(run, load_plan(run.plan), policy)
    page = write_report(directory, signer="" if identity is None else identity.public_key.hex())
    seal_report(directory)
    if identity is not None:
        sign_run(directory, identity)
    typer.echo(str(page))
