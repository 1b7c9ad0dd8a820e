"""``discreet run`` after it has read its config: train, seal the files, print the result."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from discreet import session
from discreet.cli import EXIT_INTERRUPTED
from discreet.cli.answers import answer_listings, answers_json
from discreet.cli.console import console
from discreet.cli.listing import Listing
from discreet.cli.log import log
from discreet.cli.promises import promises
from discreet.cli.watch import Watch, trackers
from discreet.config import Config
from discreet.data.remarks import grouped
from discreet.engines.local import Opening, RunResult
from discreet.engines.local.processes import WorkerProcess
from discreet.quality import AnyQuality, Quality
from discreet.quality.intervals import Interval, off_by, percents
from discreet.quality.levels import level_rows
from discreet.rounds import RunDirectory
from discreet.session import nothing_left, summarise
from discreet.session.progress import RunDisplay
from discreet.verify import manifest_digest


@dataclass(frozen=True, slots=True)
class Request:
    """The config that was read from ``source``, the directory of the results, and the options."""

    config: Config
    source: Path
    directory: Path
    resume: bool
    overwrite: bool
    key: Path | None
    tensorboard: Path | None
    mlflow: str | None
    per_silo: bool
    as_json: bool
    quiet: bool

    @property
    def opening(self) -> Opening:
        """What to do with the directory."""
        return Opening.RESUME if self.resume else Opening.OVERWRITE if self.overwrite else Opening.NEW


def carry_out(request: Request, early: Sequence[WorkerProcess]) -> None:
    """Trains on the worker processes that were started early, and prints the result."""
    config, directory = request.config, request.directory
    screen = console(stderr=request.as_json)
    if request.resume and nothing_left(config, directory, request.key):
        _say_finished(request)
        return
    asked = trackers(request.tensorboard, request.mlflow, config.name)
    with ExitStack() as opened:
        for tracker in asked:
            opened.enter_context(tracker)
        display = opened.enter_context(RunDisplay(screen, quiet=request.quiet))
        watch = Watch(screen, display, asked, request.quiet, request.per_silo)

        try:
            result, report = session.carry_out(
                config,
                directory,
                opening=request.opening,
                sign=request.key,
                observe=watch.observe,
                announce=watch.announce,
                early=early,
            )
        except KeyboardInterrupt:
            typer.echo(f"interrupted; {_how_to_go_on(request)}", err=True)
            raise typer.Exit(EXIT_INTERRUPTED) from None
        except OSError as error:
            error.add_note(_how_to_go_on(request))
            raise
    log("done", directory=directory, manifest=manifest_digest(directory))
    if request.as_json:
        # The files are for others, so what depends on records is printed and not written.
        quality = [] if result.quality is None or not result.quality.warning else [result.quality.warning]
        told = summarise(result) | {"warnings": [*quality, *result.told]}
        if result.plan.questions:
            told["answers"] = answers_json(result)
        typer.echo(json.dumps(told, indent=1))
    elif not request.quiet:
        _show(screen, result, report)
    elif result.failing:
        # What a guarantee lacks is no chatter.
        typer.echo(result.failing, err=True)


def _how_to_go_on(request: Request) -> str:
    """Returns the command that goes on with what is on disk, or says that there is nothing yet."""
    run = RunDirectory(request.directory)
    if run.plan.is_file() and run.ledger.is_file():
        return f"go on with: discreet run {request.source} --out {request.directory} --resume"
    return "nothing was released yet; start again" + " with --overwrite" * request.directory.exists()


def _say_finished(request: Request) -> None:
    """Says that nothing was changed."""
    said = f"the training in {request.directory} is finished; nothing was changed."
    typer.echo(f"{said} Look at it again: discreet report {request.directory}", err=True)
    if request.as_json:
        typer.echo(RunDirectory(request.directory).file("result.json").read_text(encoding="utf-8"))


def _show(screen: Console, result: RunResult, report: Path) -> None:
    """Prints what was promised, what it cost, and where the report is."""
    if result.seeded:
        screen.print(
            "\n[bold yellow]Simulation:[/] the noise comes from run.seed, and whoever knows the seed can "
            "remove it. The guarantees below hold only for a run without a seed."
        )
    screen.print("")
    guarantees = result.guarantees
    screen.print(promises(result.plan, guarantees, title="who can learn what", failing=result.broken))
    if any(row.assumptions for row in guarantees):
        screen.print("A1 and so on are assumptions: the report lists them, and so does `discreet plan`.")
    if result.plan.questions:
        for listing in answer_listings(result):
            screen.print("", listing)
    if result.metrics:
        screen.print("")
        screen.print(_price(result))
    if result.quality is not None:
        screen.print(_how_good(result.quality), highlight=False)
        if result.quality.warning:
            screen.print(Text(result.quality.warning, style="bold yellow"))
    if lost := [result.plan.order.name(release) for release in result.spending.lost]:
        ends = "was lost and stays" if len(lost) == 1 else "were lost and stay"
        screen.print(f"\n{', '.join(lost)} {ends} charged; the guarantees cover that.", highlight=False)
    if result.told:
        screen.print("\n[bold yellow]Look at the records[/] (only you are told; no file holds this):")
        for line in grouped(result.told):
            screen.print(Text(f"- {line}", overflow="fold"))
    screen.print(f"\nreport: {report}")


def _how_good(quality: AnyQuality) -> str:
    """Says in one line what accuracy alone hides, or an error; the report has the rest."""
    whose = "" if quality.persons is None else f" of {quality.persons} persons"
    found = f"{quality.records} held-out records{whose}, not private: "
    if not isinstance(quality, Quality):
        return f"{found}root mean square error {off_by(quality.rmse)}, R² {off_by(quality.r2)}"
    parts: list[tuple[str, Interval | None]] = [("balanced accuracy", quality.balanced_accuracy)]
    if quality.levels is not None:
        found += ", ".join(f"{name.lower()} {value}" for name, value, _ in level_rows(quality.levels)) + ", "
    if quality.labels is not None:
        return found + "; ".join(
            f"{one.second.name} {percents(one.accuracy)}, base rate {100 * one.against.base_rate:.1f} %"
            for one in quality.labels
        )
    if len(quality.classes) == 2:
        parts += [("recall", quality.classes[1].recall), ("precision", quality.classes[1].precision)]
    return found + ", ".join(f"{name} {percents(part)}" for name, part in parts)


def _price(result: RunResult) -> Listing:
    """Compares the released model with models that nobody may publish, on records held out."""
    models: dict[str, Mapping[str, float]] = {"this run, private, released": result.metrics}
    what = "how good the model is"
    if result.comparison is not None:
        what = "what privacy cost, and what training together brought"
        models["pooled without privacy (not private, not released)"] = result.comparison.pooled
        for silo, metrics in result.comparison.alone.items():
            models[f"{silo} alone (not private, not released)"] = metrics
    if result.start:
        models["public weights alone, before round 1"] = result.start
    title = f"{what} (held-out records; not covered by the guarantee)"
    if "mae" in result.metrics:
        errors = [(name, f"{found['mae']:.4g}") for name, found in models.items()]
        errors.append(("always the median", f"{result.metrics['constant_mae']:.4g}"))
        column = "mean absolute error"
        return Listing(title, ("model", column), tuple(errors), frozenset({column}))
    base = (
        "always the commonest class (base rate)",
        f"{100 * result.metrics['base_rate']:.1f} %",
        "0.500" if "auc" in result.metrics else "–",
    )
    if "label_accuracy" in result.metrics:
        return Listing(title, *_of_labels(models, result.metrics["label_base_rate"]))
    rows = (
        *(
            (name, f"{100 * found['accuracy']:.1f} %", f"{found['auc']:.3f}" if "auc" in found else "–")
            for name, found in models.items()
        ),
        base,
    )
    return Listing(title, ("model", "accuracy", "AUC"), rows, frozenset({"accuracy", "AUC"}))


def _of_labels(
    models: Mapping[str, Mapping[str, float]], base_rate: float
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...], frozenset[str]]:
    """Returns header, rows and numbers of a comparison where a record has several labels."""
    header = ("model", "all labels right", "mean over labels", "mean AUC")
    rows = tuple(
        (
            name,
            f"{100 * found['accuracy']:.1f} %",
            f"{100 * found['label_accuracy']:.1f} %",
            f"{found['auc']:.3f}" if "auc" in found else "–",
        )
        for name, found in models.items()
    )
    base = ("always the commoner value (base rate)", "–", f"{100 * base_rate:.1f} %", "0.500")
    return header, (*rows, base), frozenset(header[1:])
