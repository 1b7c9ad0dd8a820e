"""``discreet plan``: what a training would cost, before anything is trained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from discreet.cli.tables import guarantees_table, plan_table
from discreet.config import load_config
from discreet.engines.local import prepare


def plan(
    config: Annotated[Path, typer.Argument(help="A TOML config.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole plan as JSON.")] = False,
) -> None:
    """Work out the plan that CONFIG asks for: noise, ring, bytes, and every adversary's guarantee.

    Example: [bold]discreet plan examples/heart.toml[/bold]
    """
    prepared = prepare(load_config(config))
    if as_json:
        typer.echo(json.dumps({"digest": prepared.plan.digest(), "plan": prepared.plan.to_json()}, indent=1))
        return
    console = Console(highlight=False)
    console.print(plan_table(prepared.plan), "")
    console.print(guarantees_table(prepared.plan.guarantees, title="who could learn what"))
