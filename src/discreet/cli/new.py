"""``discreet new``: the project of a consortium, ready to be filled in; needs no network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def new(
    directory: Annotated[Path, typer.Argument(help="A new folder.", show_default=False)],
    silos: Annotated[
        str, typer.Option(help="Names of the silos, separated by commas.")
    ] = "north,south,west,east",
) -> None:
    """Write a consortium project: app, config, policies, data adapters, a key script and a README.

    Example: [bold]discreet new heart-study --silos cleveland,hungary,long_beach_va,switzerland[/bold]
    """
    from discreet.engines.flower.scaffold import write_consortium

    names = tuple(name.strip() for name in silos.split(","))
    write_consortium(directory, names)
    typer.echo(f"{directory}: a consortium of {len(names)} silos. Go on with {directory / 'README.md'}")
