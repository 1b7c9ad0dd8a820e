"""``discreet reproduce``: run a paper's table or figure again and compare.

The framework lies in the source repository, beside the papers' tables (ADR 57); the wheel has the way there.
"""

from __future__ import annotations

import importlib
import os
import sys
from enum import StrEnum
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

import discreet
from discreet.errors import ConfigurationError

DATA_VARIABLE = "DISCREET_DATA"
_FRAMEWORK = "reproducing"


class Scale(StrEnum):
    """How much to compute, as it is written on the command line."""

    SMALL = "small"
    FULL = "full"


def reproduce(
    name: Annotated[str | None, typer.Argument(help="A reproduction; left out, they are listed.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Run all of them.")] = False,
    scale: Annotated[Scale, typer.Option(help="How much to compute.")] = Scale.SMALL,
    data_dir: Annotated[
        Path | None, typer.Option(help=f"Folder of the real data sets; else ${DATA_VARIABLE}.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for CSV and figure.")] = Path("runs/reproduce"),
    root: Annotated[
        Path | None,
        typer.Option("--from", help="Folder of the reproductions.", show_default="the source checkout's"),
    ] = None,
    cell: Annotated[
        str | None,
        typer.Option(help="Compute only long cells that match; the others keep what OUT's CSV says."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON.")] = False,
) -> None:
    """Run reproductions; exit code 1 if a number misses what was expected, else 0.

    Cells that need data which are not here, or that were not asked for, are skipped, counted and named.

    Example: [bold]discreet reproduce p1-table1[/bold]
    """
    if every and name is not None:
        raise ConfigurationError("NAME and --all exclude each other; give one of them.")
    beside = beside_source(Path(discreet.__file__).parent)
    chosen = root or beside
    framework = _framework(chosen, beside)
    if not every and name is None:
        framework.show_list(chosen, as_json=as_json)
        return
    data = _data_folder(data_dir)
    request = framework.Request(framework.Scale(scale.value), data, out, cell)
    if not framework.carry_out_all(chosen, name, request, as_json=as_json):
        raise typer.Exit(1)


def beside_source(package: Path) -> Path | None:
    """Returns the reproductions of the checkout that ``package`` is imported from; None for a wheel.

    A wheel's neighbours are not a checkout, whatever they are called: what lies there, or in the current
    directory, may be anybody's, and its scripts would be run.
    """
    checkout = package.parent.parent
    is_checkout = package.parent.name == "src" and (checkout / "pyproject.toml").is_file()
    return checkout / "reproductions" if is_checkout else None


def _framework(*folders: Path | None) -> ModuleType:
    """Imports the framework from the first folder that holds it, and from nowhere else."""
    for folder in folders:
        if folder is not None and (folder / _FRAMEWORK / "__init__.py").is_file():
            place = str(folder.resolve())
            sys.path.insert(0, place)
            try:
                return importlib.import_module(f"{_FRAMEWORK}.command")
            finally:
                sys.path.remove(place)
    raise ConfigurationError(
        "reproductions need a checkout of the source repository, in its folder 'reproductions'; this "
        "installation has none beside it. Name the checkout's folder with --from."
    )


def _data_folder(option: Path | None) -> Path | None:
    """Returns the folder of data sets and tells the scripts' data sources about it."""
    if option is None:
        variable = os.environ.get(DATA_VARIABLE)
        return Path(variable) if variable else None
    os.environ[DATA_VARIABLE] = str(option)
    return option
