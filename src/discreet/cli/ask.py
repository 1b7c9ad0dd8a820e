"""``discreet ask``: questions to all silos, answered by one secure sum."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.lazy import quick_imports
from discreet.cli.run import check_options, free_directory
from discreet.config import load_config
from discreet.errors import ConfigurationError


def ask(
    config: Annotated[Path, typer.Argument(help="A TOML config with [[ask]].", show_default=False)],
    out: Annotated[Path | None, typer.Option(help="Directory for the answers; left out: runs/NAME.")] = None,
    resume: Annotated[bool, typer.Option(help="Go on with an interrupted run in --out.")] = False,
    overwrite: Annotated[bool, typer.Option(help="Replace an earlier run in --out.")] = False,
    sign: Annotated[
        Path | None, typer.Option(help="The coordinator's private key, of `discreet silo keygen`.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answers as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Ask all silos the questions of CONFIG and answer them from one secure sum.

    Every number comes with a 95 % interval that counts the noise of privacy. Answers, guarantee and ledger
    land in one folder: report.html, answers.csv and more.

    Example: [bold]discreet ask examples/ask.toml[/bold]
    """
    check_options(out, resume=resume, overwrite=overwrite)
    settings = load_config(config)
    if settings.ask is None:
        raise ConfigurationError(
            f"{config.name} must hold at least one [[ask]]; it holds none. Train with: discreet run {config}"
        )
    with quick_imports():
        from discreet.cli.training import Request, carry_out

    request = Request(
        config=settings,
        source=config,
        directory=out if out is not None else free_directory(settings.name),
        resume=resume,
        overwrite=overwrite,
        key=sign,
        tensorboard=None,
        mlflow=None,
        per_silo=False,
        as_json=as_json,
        quiet=quiet,
    )
    carry_out(request, early=())
