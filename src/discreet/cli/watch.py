"""The observers of a training: the display, the log, and the trackers that were asked for."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

from discreet.cli.console import tell_owner
from discreet.cli.log import log
from discreet.cli.promises import plan_table
from discreet.engines.local import Prepared
from discreet.rounds import RoundReport
from discreet.session.progress import RunDisplay
from discreet.tracking import MLflow, TensorBoard, Tracker, public_values


@dataclass(frozen=True, slots=True)
class Watch:
    """Tells everybody who watches.

    Attributes:
        screen: where a person looks.
        display: the moving line there.
        trackers: experiment trackers.
        quiet: whether the plan is left out on the screen.
        per_silo: whether trackers may have held-out measurements of single silos.
    """

    screen: Console
    display: RunDisplay
    trackers: tuple[Tracker, ...]
    quiet: bool
    per_silo: bool

    def announce(self, prepared: Prepared) -> None:
        """Shows the plan before the first round, and what became of records that could not be used."""
        # Answers come at once, and the notes stand below them.
        if self.quiet or self.screen.stderr or not prepared.plan.questions:
            tell_owner(prepared.notes)
        log("plan", digest=prepared.plan.digest(), silos=prepared.plan.thresholds.num_silos)
        if not self.quiet:
            self.screen.print(plan_table(prepared.plan), "")
        self.display.begin(prepared.start)

    def observe(self, report: RoundReport) -> None:
        """Tells of a released round."""
        self.display.observe(report)
        _log_round(report)
        for tracker in self.trackers:
            tracker.record(report.release, public_values(report, per_silo=self.per_silo))


def trackers(tensorboard: Path | None, mlflow: str | None, run_name: str) -> tuple[Tracker, ...]:
    """Returns the trackers that were asked for.

    Raises:
        ConfigurationError: if the package behind one is not installed.
    """
    asked: list[Tracker] = []
    if tensorboard is not None:
        asked.append(TensorBoard(tensorboard))
    if mlflow is not None:
        asked.append(MLflow(mlflow, run_name))
    return tuple(asked)


def phase_seconds(report: RoundReport) -> dict[str, str]:
    """Returns the wall time of each phase that was measured."""
    found = [asdict(phases) for phases in (report.sum.seconds, report.phases) if phases is not None]
    return {f"{name}_seconds": f"{value:.3f}" for phases in found for name, value in phases.items()}


def _log_round(report: RoundReport) -> None:
    """Logs what is public about a round: no measurement and no loss."""
    log(
        "round",
        release=report.release,
        survivors=",".join(report.sum.survivors),
        bytes_per_silo=report.sum.bytes_per_silo,
        seconds=f"{report.seconds:.3f}",
        spent=report.spent,
        **({} if report.clip_norm is None else {"clip_norm": f"{report.clip_norm:.6g}"}),
        **phase_seconds(report),
    )
