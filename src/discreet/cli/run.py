"""``discreet run``: the main job."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.lazy import quick_imports
from discreet.config import Config, load_config
from discreet.engines.local.processes import early_processes
from discreet.errors import ConfigurationError


def run(
    config: Annotated[Path, typer.Argument(help="A TOML config.", show_default=False)],
    out: Annotated[Path | None, typer.Option(help="Directory for the results; left out: runs/NAME.")] = None,
    resume: Annotated[bool, typer.Option(help="Go on with an interrupted training in --out.")] = False,
    overwrite: Annotated[bool, typer.Option(help="Replace an earlier training in --out.")] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes that train silos; left out: speed.workers.")
    ] = None,
    sign: Annotated[
        Path | None, typer.Option(help="The coordinator's private key, of `discreet silo keygen`.")
    ] = None,
    tensorboard: Annotated[
        Path | None, typer.Option(help="Folder for TensorBoard's event files.", show_default=False)
    ] = None,
    mlflow: Annotated[
        str | None, typer.Option(help="MLflow experiment to record the rounds in.", show_default=False)
    ] = None,
    per_silo: Annotated[
        bool, typer.Option("--per-silo", help="Let trackers have held-out measurements of single silos.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON; progress goes to stderr.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Train as CONFIG says and write plan, ledger, metrics, model and report.

    Example: [bold]discreet run examples/heart.toml --out runs/heart[/bold]
    """
    check_options(out, resume=resume, overwrite=overwrite)
    settings = _with_workers(load_config(config), workers)
    with early_processes(settings.speed) as early:
        # These imports take seconds, which the workers need for their own at the same time.
        with quick_imports():
            from discreet.cli.training import Request, carry_out

        request = Request(
            config=settings,
            source=config,
            directory=out if out is not None else free_directory(settings.name),
            resume=resume,
            overwrite=overwrite,
            key=sign,
            tensorboard=tensorboard,
            mlflow=mlflow,
            per_silo=per_silo,
            as_json=as_json,
            quiet=quiet,
        )
        carry_out(request, early)


def check_options(out: Path | None, *, resume: bool, overwrite: bool) -> None:
    """Refuses options that exclude each other.

    Raises:
        ConfigurationError: naming them.
    """
    if resume and overwrite:
        raise ConfigurationError("--resume and --overwrite exclude each other; give one of them.")
    if resume and out is None:
        raise ConfigurationError(
            "--resume must say which training to go on with; give its directory as --out."
        )


def _with_workers(config: Config, workers: int | None) -> Config:
    """Returns the config with the number that was given on the command line."""
    if workers is None:
        return config
    return config.model_copy(update={"speed": config.speed.model_copy(update={"workers": workers})})


def free_directory(name: str) -> Path:
    """Returns runs/NAME, or runs/NAME-2 and so on if that is taken."""
    taken = Path("runs") / name
    return next(
        path
        for path in (taken, *(taken.with_name(f"{name}-{number}") for number in range(2, 1_000_000)))
        if not path.exists()
    )
