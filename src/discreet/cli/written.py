"""Options that say how a CSV file of rows is written, shared by the commands that use a model."""

from __future__ import annotations

from typing import Annotated

import typer

Separator = Annotated[
    str | None, typer.Option(help="Of a CSV file: the character between cells, or tab; left out, guessed.")
]
Encoding = Annotated[
    str | None, typer.Option(help="Of a CSV file, such as utf-8 or cp1252; left out, guessed.")
]
Decimal = Annotated[str | None, typer.Option(help="Of a CSV file, . or ,; left out, guessed.")]


def written(separator: str | None, encoding: str | None, decimal: str | None) -> dict[str, str]:
    """Returns what was stated; a tab, which few shells let one type, may be ``tab`` or backslash and t."""
    separator = "\t" if separator in ("tab", "\\t") else separator
    stated = {"separator": separator, "encoding": encoding, "decimal": decimal}
    return {key: value for key, value in stated.items() if value is not None}
