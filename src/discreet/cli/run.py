"""``discreet run``: the main job."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from discreet.cli.console import console
from discreet.cli.display import RunDisplay
from discreet.cli.finish import finish, summarise
from discreet.cli.tables import guarantees_table
from discreet.cli.watch import Watch, trackers
from discreet.config import Config, load_config
from discreet.engines.local import Opening, RunResult
from discreet.engines.local import run as run_locally
from discreet.errors import ConfigurationError
from discreet.policy import load_key
from discreet.verify import require_key

# What shells report for a process that Ctrl-C ended.
_EXIT_INTERRUPTED = 130


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
    _check_options(out, resume=resume, overwrite=overwrite)
    settings = _with_workers(load_config(config), workers)
    directory = out if out is not None else _free_directory(settings.name)
    identity = None if sign is None else load_key(sign)
    if resume:
        require_key(directory, identity)
    opening = Opening.RESUME if resume else Opening.OVERWRITE if overwrite else Opening.NEW
    screen = console(stderr=as_json)
    asked = trackers(tensorboard, mlflow, settings.name)
    with ExitStack() as opened:
        for tracker in asked:
            opened.enter_context(tracker)
        planned = settings.training.rounds
        display = opened.enter_context(RunDisplay(screen, planned=planned, quiet=quiet))
        watch = Watch(screen, display, asked, quiet, per_silo)
        try:
            result = run_locally(
                settings, directory, opening=opening, observe=watch.observe, announce=watch.announce
            )
        except KeyboardInterrupt:
            typer.echo(f"interrupted; go on with: discreet run {config} --out {directory} --resume", err=True)
            raise typer.Exit(_EXIT_INTERRUPTED) from None
    report = finish(result, identity)
    if as_json:
        typer.echo(json.dumps(summarise(result), indent=1))
    elif not quiet:
        _show(screen, result, report)


def _check_options(out: Path | None, *, resume: bool, overwrite: bool) -> None:
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


def _free_directory(name: str) -> Path:
    """Returns runs/NAME, or runs/NAME-2 and so on if that is taken."""
    taken = Path("runs") / name
    return next(
        path
        for path in (taken, *(taken.with_name(f"{name}-{number}") for number in range(2, 1_000_000)))
        if not path.exists()
    )


def _show(screen: Console, result: RunResult, report: Path) -> None:
    """Prints what was promised, what it cost, and where the report is."""
    if result.seeded:
        screen.print(
            "\n[bold yellow]Simulation:[/] the noise comes from run.seed, and whoever knows the seed can "
            "remove it. The guarantees below hold only for a run without a seed."
        )
    screen.print("")
    screen.print(guarantees_table(result.plan.guarantees, title="who can learn what"))
    if result.metrics:
        screen.print("")
        screen.print(_price(result))
    lost = len(result.spending.lost)
    if lost:
        screen.print(f"\n{lost} interrupted round(s) stayed charged; the guarantees cover them.")
    screen.print(f"\nreport: {report}")


def _price(result: RunResult) -> Table:
    table = Table(
        title="what it cost, and what joining brought (held-out records; not covered by the guarantee)",
        title_justify="left", title_style="bold", show_edge=False, pad_edge=False)  # fmt: skip
    table.add_column("model")
    table.add_column("accuracy", justify="right")
    table.add_column("AUC", justify="right")
    rows = {"this run, private, released": result.metrics}
    if result.comparison is not None:
        rows["pooled without privacy (not private, not released)"] = result.comparison.pooled
        for silo, metrics in result.comparison.alone.items():
            rows[f"{silo} alone (not private, not released)"] = metrics
    for name, metrics in rows.items():
        auc = f"{metrics['auc']:.3f}" if "auc" in metrics else "–"
        table.add_row(name, f"{100 * metrics['accuracy']:.1f} %", auc)
    return table
