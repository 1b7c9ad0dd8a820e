"""What a person sees while a training runs: a line a round, and a moving one on a terminal.

No line says what was spent by then: an ε of some rounds holds only if their number was fixed beforehand, and
whoever reads the line may end the training. The plan's own ε holds whenever it ends, and is shown before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column

from discreet.rounds import RoundReport

# With more rounds than this, a terminal shows the moving line only.
_MOST_LINES = 40
# On a narrower terminal the moving line shows the round, and nothing else.
_WIDE = 100
_MEASURES = (
    ("accuracy", "accuracy"), ("base_rate", "base rate"), ("auc", "AUC"),
    ("mae", "mean absolute error"), ("constant_mae", "of the median"),
)  # fmt: skip


class RunDisplay:
    """Shows rounds as they complete; a context manager, silent when ``quiet``."""

    def __init__(self, console: Console, *, quiet: bool = False) -> None:
        self._console = console
        self._quiet = quiet
        self._live = console.is_terminal and not quiet
        self._progress = Progress(
            *_columns(wide=console.width >= _WIDE),
            console=console,
            disable=not self._live,
        )
        self._task = self._progress.add_task("round", total=None, status="preparing")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def begin(self, start: Mapping[str, float]) -> None:
        """Shows what public weights alone are worth; nothing where none were measured."""
        if start and not self._quiet:
            said = f"before round 1: public weights alone, not private: {', '.join(_measures(start))}"
            self._console.print(said, highlight=False)

    def observe(self, report: RoundReport) -> None:
        """Shows one completed round."""
        status = describe(report)
        self._progress.update(self._task, total=report.planned, completed=report.release, status=status)
        if not self._quiet and (not self._live or report.planned <= _MOST_LINES):
            name = report.text or f"round {report.release}/{report.planned}"
            self._console.print(f"{name}  {status}", highlight=False)


def describe(report: RoundReport) -> str:
    """Returns survivors, a moving clipping norm, and measurements with the word that they are not private."""
    parts = [f"{len(report.sum.survivors)} silos"]
    if report.held_out is not None:
        parts += [*report.held_out.texts(), "under the guarantee"]
        return "  ".join(parts)
    if report.clip_norm is not None:
        parts.append(f"clip norm {report.clip_norm:.3g}")
    measured = _measures(report.metrics)
    if report.sum.training_loss is not None:
        measured.append(f"training loss {report.sum.training_loss:.3f}")
    if measured:
        parts.append(f"not private: {', '.join(measured)}")
    return "  ".join(parts)


def _measures(found: Mapping[str, float]) -> list[str]:
    return [
        f"{name} {found[key]:.{'4g' if 'mae' in key else '3f'}}" for key, name in _MEASURES if key in found
    ]


def _columns(*, wide: bool) -> tuple[ProgressColumn, ...]:
    """Returns the parts of the moving line; only the measurements are wrapped where there is little room."""
    needed = (TextColumn("round"), MofNCompleteColumn())
    if not wide:
        return needed
    status = TextColumn("{task.fields[status]}", table_column=Column(overflow="fold"))
    return (*needed, BarColumn(bar_width=12), status, TimeRemainingColumn(compact=True), TextColumn("left"))
