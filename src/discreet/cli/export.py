"""``discreet export``: a released model for programs that do not know this package, and its card."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.opened import OwnCode
from discreet.errors import ConfigurationError
from discreet.released import (
    load_model,
    model_card,
    onnx_program,
    require_new,
    sklearn_file,
    torch_program,
    weights_file,
    write_new,
)

_OF_WEIGHTS = {
    "knob": "Name another, for it is written; the weights of a feature network are given by --public-weights."
}


def export(
    run: Annotated[Path, typer.Argument(help="The folder of a run, or a model file.", show_default=False)],
    onnx: Annotated[Path | None, typer.Option(help="A new ONNX file; takes raw columns by name.")] = None,
    torch: Annotated[Path | None, typer.Option(help="A new file for torch.export.load.")] = None,
    weights: Annotated[
        Path | None,
        typer.Option(help="A new safetensors file of the network's weights, adapters merged."),
    ] = None,
    sklearn: Annotated[
        Path | None, typer.Option(help="A new joblib file with a scikit-learn pipeline; linear models.")
    ] = None,
    card: Annotated[
        Path | None, typer.Option(help="A new Markdown file with the model's card; needs the run's folder.")
    ] = None,
    public_weights: Annotated[
        Path | None,
        typer.Option(
            help="The public weights of the network that made the features: it becomes a part of --onnx "
            "and --torch."
        ),
    ] = None,
    own_code: OwnCode = False,
) -> None:
    """Write a model, preprocessing included, in forms that load without this package; and its card.

    Example: [bold]discreet export runs/heart --onnx heart.onnx --card README.md[/bold]
    """
    forms = (
        ("--onnx", onnx, onnx_program),
        ("--torch", torch, torch_program),
        ("--weights", weights, weights_file),
        ("--sklearn", sklearn, sklearn_file),
    )
    asked = [(option, path, make) for option, path, make in forms if path is not None]
    if not asked and card is None:
        raise ConfigurationError(
            "an export needs a form; got none. Give --onnx, --torch, --weights, --sklearn or --card."
        )
    for option, path, _ in asked:
        require_new(path, option, **(_OF_WEIGHTS if option == "--weights" else {}))
    if card is not None:
        require_new(card, "--card")
    # All are made before one is written: a form that cannot be leaves nothing behind.
    made = []
    if asked:
        model = load_model(run, own_code=own_code, weights=public_weights)
        made = [(option, path, make(model)) for option, path, make in asked]
    if card is not None:
        if not run.is_dir():
            raise ConfigurationError(f"--card needs the folder of a run, for its report; got the file {run}.")
        made.append(("--card", card, model_card(run).encode()))
    for option, path, data in made:
        write_new(path, data, option)
        typer.echo(str(path))
