"""Carrying a reproduction out: every expected cell is computed, or skipped with a reason; none is lost."""

from __future__ import annotations

from collections.abc import Callable

from discreet.errors import ConfigurationError
from discreet.reproduction.catalogue import Reproduction
from discreet.reproduction.context import Context
from discreet.reproduction.rows import Row

Progress = Callable[[str, int, int], None]


def _ignore(_name: str, _done: int, _total: int) -> None:
    """Shows nothing."""


def carry_out(
    reproduction: Reproduction, context: Context, *, progress: Progress = _ignore
) -> tuple[Row, ...]:
    """Computes all cells of a reproduction at one scale.

    Args:
        reproduction: what to run.
        context: scale and data.
        progress: called with a cell's name, the number of cells done, and their total.

    Raises:
        ConfigurationError: if the script yields a cell that is not expected, or leaves one out.
    """
    expected = dict(reproduction.expectations.cells[context.scale])
    total, rows = len(expected), []
    for cell in reproduction.cells(context):
        if cell.name not in expected:
            raise ConfigurationError(
                f"every cell of {reproduction.name} must be in its expected.json; {cell.name!r} is not, or "
                "it came twice."
            )
        rows.append(Row(cell, expected.pop(cell.name)))
        progress(cell.name, len(rows), total)
    if expected:
        raise ConfigurationError(
            f"{reproduction.name} must compute every cell of its expected.json; {min(expected)!r} is missing."
        )
    return tuple(rows)
