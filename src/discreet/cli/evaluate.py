"""``discreet evaluate``: how good a model is on labelled rows, on this machine alone."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.console import console, tell_of_model, tell_owner
from discreet.cli.listing import Listing
from discreet.cli.opened import OwnCode, Weights
from discreet.cli.written import Decimal, Encoding, Separator, written
from discreet.documents import shown
from discreet.errors import ConfigurationError
from discreet.plan.uncalibrated import ENTRY
from discreet.quality import NumberQuality, Quality, quality_json
from discreet.quality.intervals import area_text, off_by, percents
from discreet.quality.levels import level_rows
from discreet.quality.owners import of_persons
from discreet.released import Evaluated, evaluate_file, load_model

_NOT_PRIVATE = (
    "These numbers are exact functions of {file}, and not private: no guarantee covers them. Show them to "
    "those who may see its records. Rows that the model was trained on flatter it: measure it on others."
)


def evaluate(
    run: Annotated[Path, typer.Argument(help="The folder of a run, or a model file.", show_default=False)],
    rows: Annotated[
        Path,
        typer.Argument(
            help="A CSV or Parquet file with the model's columns and label, or an .npz file with x and y.",
            show_default=False,
        ),
    ],
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            help="A column of texts, or one of numbers and where to cut it, age=40,60: "
            "measure each group too. May be repeated.",
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Call the second of two classes from this probability on; left out: the most probable.",
            show_default=False,
        ),
    ] = None,
    separator: Separator = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    weights: Weights = None,
    own_code: OwnCode = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")] = False,
) -> None:
    """Say how good a model is on the labelled rows of a file; nothing leaves this machine.

    Intervals are of 95 %. The accuracy stands beside that of always naming the commonest class; of a
    regression, errors stand beside those of the best constant.

    Example: [bold]discreet evaluate runs/heart labelled.csv --by sex[/bold]
    """
    groups, how = dict(map(_group, by or ())), written(separator, encoding, decimal)
    model = load_model(run, own_code=own_code, weights=weights)
    found = evaluate_file(model, rows, by=groups, threshold=threshold, written=how)
    tell_owner(found.notes)
    tell_of_model(found.caveats)
    warning = _NOT_PRIVATE.format(file=rows.name)
    if as_json:
        of_model = {ENTRY: model.caveat} if model.caveat else {}
        warnings = [one for one in (found.quality.warning, warning) if one]
        told = {**quality_json(found.quality), **_beside(found), **of_model, "warnings": warnings}
        typer.echo(json.dumps(told, indent=1))
        typer.echo(warning, err=True)
        return
    out = console()
    quality = found.quality
    listings = (
        _listings(quality, found, rows.name) if isinstance(quality, Quality) else _errors(quality, rows.name)
    )
    for listing in listings:
        out.print(listing, "")
    sure = quality.sureness.words if isinstance(quality, Quality) else ""
    for line in (sure, quality.warning, warning):
        if line:
            out.print(shown(line, len(line)), soft_wrap=True, markup=False)


def _beside(found: Evaluated) -> dict[str, Any]:
    """Returns the numbers that JSON has besides the measurements: of the probabilities of a classifier."""
    if not isinstance(found.quality, Quality):
        return {}
    sure = found.quality.sureness
    return {
        "log_loss": found.loss,
        "calibration_error": sure.error,
        "calibration_error_by_chance": sure.by_chance,
        "too_sure_by": sure.excess,
        **({} if sure.second is None else {"second_class": asdict(sure.second)}),
        **({} if found.threshold is None else {"threshold": found.threshold}),
    }


def _group(asked: str) -> tuple[str, tuple[float, ...]]:
    """Reads a column, or a column and the edges between its groups."""
    column, cut, listed = asked.partition("=")
    try:
        edges = tuple(map(float, listed.split(","))) if cut else ()
    except ValueError:
        edges = (math.nan,)
    if not all(before < after for before, after in pairwise((-math.inf, *edges, math.inf))):
        raise ConfigurationError(
            f"--by must be a column, or a column and increasing numbers as in age=40,60; got {asked!r}."
        )
    return column, edges


def _errors(quality: NumberQuality, file: str) -> list[Listing]:
    """Returns what is shown of a regression: the whole, and each group that was asked for."""
    whole = (
        ("records", of_persons(quality.records, quality.persons)),
        ("mean absolute error", off_by(quality.mae)),
        ("… of always naming the median", f"{quality.constant_mae:.4g}"),
        ("root mean square error", off_by(quality.rmse)),
        ("… of always naming the mean", f"{quality.constant_rmse:.4g}"),
        ("R²", off_by(quality.r2)),
    )
    groups = tuple(
        (f"{one.by} {one.name}", f"{one.records:,}", off_by(one.mae), f"{one.constant_mae:.4g}")
        for one in quality.groups
    )
    header = ("group", "records", "mean absolute error", "of the median")
    listings = [Listing(f"the model on {file}", ("measure", "value"), whole, frozenset({"value"}))]
    return [*listings, *([Listing("each group", header, groups, frozenset(header[1:]))] if groups else [])]


def _listings(quality: Quality, found: Evaluated, file: str) -> list[Listing]:
    """Returns what is shown: the whole, each class, and each group that was asked for."""
    levels = (
        ()
        if quality.levels is None
        else tuple((name.lower(), value) for name, value, _ in level_rows(quality.levels))
    )
    cut = found.threshold
    whole = (
        ("records", of_persons(quality.records, quality.persons)),
        *(() if cut is None else ((f"{quality.classes[1].name} called from", f"{cut:g}"),)),
        ("accuracy", percents(quality.accuracy)),
        ("base rate", f"{100 * quality.against.base_rate:.1f} %"),
        ("balanced accuracy", percents(quality.balanced_accuracy)),
        *levels,
        ("Brier score" + ", half the sum" * (len(quality.classes) != 2), f"{quality.brier.value:.3f}"),
        ("calibration error", quality.sureness.error_text),
        ("log loss", "–" if found.loss is None else f"{found.loss:.3f}"),
    )
    classes = tuple(
        (one.name, f"{one.records:,}", percents(one.recall), percents(one.precision), area_text(one.auc))
        for one in quality.classes
    )
    groups = tuple(
        (f"{one.by} {one.name}", f"{one.records:,}", percents(one.accuracy), f"{100 * one.base_rate:.1f} %")
        for one in quality.groups
    )
    listings = [Listing(f"the model on {file}", ("measure", "value"), whole, frozenset({"value"}))]
    labels = tuple(
        (
            one.second.name,
            f"{one.second.records:,}",
            percents(one.accuracy),
            f"{100 * one.against.base_rate:.1f} %",
            percents(one.second.recall),
            percents(one.second.precision),
            area_text(one.second.auc),
        )
        for one in quality.labels or ()
    )
    who_was = (
        tuple(
            (one.name, *map("{:,}".format, row))
            for one, row in zip(quality.classes, quality.confusion, strict=True)
        )
        if len(quality.classes) == 2
        else ()
    )
    by_label = ("label", "records", "accuracy", "base rate", "recall", "precision", "AUC")
    tables = (
        ("each label", by_label, labels),
        ("each class", ("class", "records", "recall", "precision", "AUC"), classes),
        ("who was called what", ("label", *(f"called {one.name}" for one in quality.classes)), who_was),
        ("each group", ("group", "records", "accuracy", "base rate"), groups),
    )
    listings += [
        Listing(title, header, rows, frozenset(header[1:])) for title, header, rows in tables if rows
    ]
    return listings
