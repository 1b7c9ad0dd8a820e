"""Options that say with what a released model is opened, shared by the commands that use one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

OwnCode = Annotated[
    bool, typer.Option("--own-code", help="Import a model that is not bundled, which the file names.")
]
Weights = Annotated[
    Path | None,
    typer.Option(help="The public weights of the network that made the features, which the plan names."),
]
