"""``discreet evaluate``: how good a model is on labelled rows, on this machine alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.console import console, tell_owner
from discreet.cli.listing import Listing
from discreet.released import Evaluated, evaluate_file, load_model

_NOT_PRIVATE = (
    "These numbers are exact functions of {file}, and not private: no guarantee covers them. Show them to "
    "those who may see its records."
)


def evaluate(
    run: Annotated[Path, typer.Argument(help="The folder of a run, or a model file.", show_default=False)],
    rows: Annotated[
        Path,
        typer.Argument(help="A CSV or Parquet file with the model's columns and label.", show_default=False),
    ],
    own_code: Annotated[
        bool, typer.Option("--own-code", help="Import a model that is not bundled, which the file names.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")] = False,
) -> None:
    """Say how good a model is on the labelled rows of a file; nothing leaves this machine.

    Example: [bold]discreet evaluate runs/heart labelled.csv[/bold]
    """
    found = evaluate_file(load_model(run, own_code=own_code), rows)
    tell_owner(found.notes)
    warning = _NOT_PRIVATE.format(file=rows.name)
    if as_json:
        typer.echo(json.dumps({**_numbers(found), "private": False}, indent=1))
        typer.echo(warning, err=True)
        return
    table = tuple((name.replace("_", " "), _shown(name, value)) for name, value in _numbers(found).items())
    out = console()
    out.print(Listing(f"the model on {rows.name}", ("measure", "value"), table, frozenset({"value"})))
    out.print(f"\n{warning}", soft_wrap=True, markup=False)


def _numbers(evaluated: Evaluated) -> dict[str, float]:
    found = evaluated.found
    numbers = {
        "records": evaluated.records,
        "accuracy": found.accuracy,
        "base_rate": evaluated.base_rate,
        "log_loss": found.loss,
    }
    return numbers if found.auc is None else {**numbers, "AUC": found.auc}


def _shown(name: str, value: float) -> str:
    if name == "records":
        return f"{value:,}"
    return f"{100 * value:.1f} %" if name in ("accuracy", "base_rate") else f"{value:.3f}"
