"""``discreet predict``: classes and probabilities, or numbers, for the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.console import tell_of_model, tell_owner
from discreet.cli.opened import OwnCode, Weights
from discreet.cli.written import Decimal, Encoding, Separator, written
from discreet.documents import shown
from discreet.released import load_model, require_new, score_file, write_new


def predict(
    run: Annotated[Path, typer.Argument(help="The folder of a run, or a model file.", show_default=False)],
    rows: Annotated[
        Path,
        typer.Argument(
            help="A CSV or Parquet file with the model's columns, or an .npz file with records in x.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="A new CSV file for the predictions; left out: printed.")
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option("--id", help="Column, or array, that names the rows; left out: their numbers."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Predict the second of two classes from this probability on; left out: the most probable.",
            show_default=False,
        ),
    ] = None,
    separator: Separator = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    weights: Weights = None,
    own_code: OwnCode = False,
) -> None:
    """Predict the class, or number, of every row of a file; a label is not needed.

    Columns may stand in any order. Cells are read by the training's public rules, and clipped to its ranges.
    Using a released model costs no privacy; predictions are about the people in ROWS, and as private as they.

    Example: [bold]discreet predict runs/heart new.csv --id patient --out scores.csv[/bold]
    """
    if out is not None:
        require_new(out, "--out")
    how = written(separator, encoding, decimal)
    model = load_model(run, own_code=own_code, weights=weights)
    scores = score_file(model, rows, id_column=id_column, threshold=threshold, written=how)
    tell_owner(scores.notes)
    tell_of_model(scores.caveats)
    if out is None:
        # Texts of classes and rows come from elsewhere, and a terminal acts on some letters.
        for line in scores.as_csv().splitlines():
            typer.echo(shown(line, len(line)))
    else:
        write_new(out, scores.as_csv().encode(), "--out")
