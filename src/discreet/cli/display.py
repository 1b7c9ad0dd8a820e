"""What a person sees while a training runs: a line a round, and a moving one on a terminal."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from discreet.rounds import RoundReport

# With more rounds than this, a terminal shows the moving line only.
_MOST_LINES = 40


class RunDisplay:
    """Shows rounds as they complete; a context manager, silent when ``quiet``."""

    def __init__(self, console: Console, *, planned: int, quiet: bool = False) -> None:
        self._console = console
        self._quiet = quiet
        self._live = console.is_terminal and not quiet
        self._progress = Progress(
            TextColumn("round"),
            MofNCompleteColumn(),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[status]}"),
            TimeRemainingColumn(compact=True),
            TextColumn("left"),
            console=console,
            disable=not self._live,
        )
        self._task = self._progress.add_task("round", total=planned, status="preparing")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def observe(self, report: RoundReport) -> None:
        """Shows one completed round."""
        status = describe(report)
        self._progress.update(self._task, completed=report.release, status=status)
        if not self._quiet and (not self._live or report.planned <= _MOST_LINES):
            self._console.print(f"round {report.release}/{report.planned}  {status}", highlight=False)


def describe(report: RoundReport) -> str:
    """Returns measurements, a moving clipping norm, survivors and what was spent, in one short line."""
    parts = []
    if report.sum.training_loss is not None:
        parts.append(f"loss {report.sum.training_loss:.3f}")
    parts.extend(
        f"{name} {report.metrics[key]:.3f}"
        for key, name in (("accuracy", "accuracy"), ("auc", "AUC"))
        if key in report.metrics
    )
    if report.clip_norm is not None:
        parts.append(f"clip norm {report.clip_norm:.3g}")
    parts.append(f"{len(report.sum.survivors)} silos")
    parts.append(f"ε spent {report.spent.epsilon:.3f}")
    return "  ".join(parts)
