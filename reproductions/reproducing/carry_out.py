"""Carrying a reproduction out: every expected cell is computed, or skipped with a reason; none is lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from discreet.errors import ConfigurationError
from reproducing.catalogue import Reproduction
from reproducing.context import Context
from reproducing.rows import Cell, Computed, Deferred, Row, Skipped

Progress = Callable[[str, int, int], None]
NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Choice:
    """Which of the long cells to compute; the others keep what an earlier run found, or say "not run".

    Attributes:
        pattern: shell pattern that the name of a deferred cell must match.
        earlier: what an earlier run found, by name.

    Example:
        >>> Choice("MNIST*").taken(Deferred("CIFAR", lambda: Computed("CIFAR", ours=1.0)))
        Skipped(name='CIFAR', reason='not run')
    """

    pattern: str = "*"
    earlier: Mapping[str, Computed] = field(default_factory=dict)

    def taken(self, cell: Cell | Deferred) -> Cell:
        """Returns the cell itself, computed if it is deferred and wanted."""
        if not isinstance(cell, Deferred):
            return cell
        if fnmatchcase(cell.name, self.pattern):
            return cell.compute()
        return self.earlier.get(cell.name, Skipped(cell.name, NOT_RUN))


EVERYTHING = Choice()


def _ignore(_name: str, _done: int, _total: int) -> None:
    """Shows nothing."""


def carry_out(
    reproduction: Reproduction,
    context: Context,
    *,
    choice: Choice = EVERYTHING,
    progress: Progress = _ignore,
) -> tuple[Row, ...]:
    """Computes all cells of a reproduction at one scale.

    Args:
        reproduction: what to run.
        context: scale and data.
        choice: which of the long cells to compute.
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
        rows.append(Row(choice.taken(cell), expected.pop(cell.name)))
        progress(cell.name, len(rows), total)
    if expected:
        raise ConfigurationError(
            f"{reproduction.name} must compute every cell of its expected.json; {min(expected)!r} is missing."
        )
    return tuple(rows)
