"""How a training stands, read from the server's folder alone, whether or not one runs there."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from discreet.documents import shown
from discreet.engines.flower.outcome import read_outcome
from discreet.engines.flower.service import ServerFolder
from discreet.errors import ConfigurationError
from discreet.log_line import Value, iso_time, read_lines
from discreet.plan import Plan, load_plan
from discreet.privacy.ledger import Spending, spending
from discreet.privacy.notation import pair_text
from discreet.rounds import RunDirectory, begun_record


class RunState(StrEnum):
    """Where a training is on its way."""

    NOT_STARTED = "not started"
    RUNNING = "running"
    STOPPED = "stopped"
    """It ended early and said why."""
    INTERRUPTED = "interrupted"
    """Its process ended without a word."""
    ABORTED = "aborted"
    """The operator wanted an end."""
    COMPLETED = "completed"


@dataclass(frozen=True, slots=True)
class LastRound:
    """The last completed round.

    Attributes:
        survivors: the silos in its sum.
        seconds: its wall time at the server; None if metrics do not reach as far as the ledger.
        at: when it was written down.
    """

    survivors: tuple[str, ...]
    seconds: float | None
    at: datetime


@dataclass(frozen=True, slots=True)
class RunStatus:
    """The status of a training.

    Attributes:
        folder: the server's.
        state: where it is on its way.
        reason: why it was stopped or aborted; None in any other state.
        plan: digest of the plan.
        name: what the config calls it.
        silos: who is to take part.
        absent: who of them takes no part while the training runs, as far as the server wrote it down.
        floor: with fewer silos the training waits.
        planned: rounds of the plan.
        spent: what the ledger says.
        epsilon: of the releases so far, against the plan's budget adversary, if nobody ends the training
            because of them; None before the first charge.
        delta: that ``epsilon`` is stated at.
        epsilon_planned: of all that is planned, whenever the training ends.
        last_round: None before there is one.
        last_line: of the server's log; None if it is empty.
        abort_requested: whether the operator asked for an end that is still to come.
        sealed: whether result and report were written and sealed.
        other_plan: what is wrong with the ``plan.json`` beside a training that has begun: it is another than
            the training's own, or cannot be read; None if it is the same.
    """

    folder: Path
    state: RunState
    reason: str | None
    plan: str
    name: str
    silos: tuple[str, ...]
    absent: tuple[str, ...]
    floor: int
    planned: int
    spent: Spending
    epsilon: float | None
    delta: float
    epsilon_planned: float
    last_round: LastRound | None
    last_line: dict[str, Value] | None
    abort_requested: bool
    sealed: bool
    other_plan: str | None

    @property
    def next_command(self) -> str:
        """The command to type next."""
        folder = shlex.quote(str(self.folder))
        match self.state:
            case RunState.RUNNING:
                return f"discreet consortium abort {folder}"
            case RunState.COMPLETED if self.sealed:
                return f"discreet verify {shlex.quote(str(self.folder / 'run'))}"
            case RunState.COMPLETED:
                return f"discreet consortium finish {folder}"
            case _:
                run_config = shlex.quote(f'folder="{self.folder.resolve()}"')
                return f"flwr run APP SUPERLINK --stream -c {run_config}"

    @property
    def waiting(self) -> bool:
        """Whether the training runs, but stands until more silos are there."""
        return len(self.silos) - len(self.absent) < self.floor

    def to_json(self) -> dict[str, Any]:
        """Returns everything as plain JSON."""
        last = self.last_round
        return {
            "state": str(self.state),
            "reason": self.reason,
            "plan": self.plan,
            "name": self.name,
            "silos": list(self.silos),
            "absent": list(self.absent),
            "waiting": self.waiting,
            "rounds": {
                "planned": self.planned,
                "completed": len(self.spent.completed),
                "lost": len(self.spent.lost),
                "under_way": self.spent.pending is not None,
                "attempts_aborted": self.spent.aborted,
            },
            "charged": {"epsilon": self.epsilon or 0.0, "delta": self.delta if self.epsilon else 0.0},
            "epsilon_planned": self.epsilon_planned,
            "last_round": None
            if last is None
            else {"survivors": list(last.survivors), "seconds": last.seconds, "at": iso_time(last.at)},
            "last_line": self.last_line,
            "abort_requested": self.abort_requested,
            "other_plan": self.other_plan,
            "next": self.next_command,
        }

    def lines(self) -> list[str]:
        """Returns everything as lines for people."""
        spent = self.spent
        found = [
            f"{self.name}: {self._state_text()}",
            f"rounds {len(spent.completed)} of {self.planned} completed, {len(spent.lost)} lost, "
            f"{spent.aborted} attempts aborted",
            "spent  " + ("nothing" if self.epsilon is None else pair_text(self.epsilon, self.delta))
            + f"; {pair_text(self.epsilon_planned, self.delta)} after all rounds, and if it ends early "
            "because of what it released",
            f"silos  {', '.join(self.silos)}"
            + (f"; without {', '.join(self.absent)}" if self.absent else ""),
        ]  # fmt: skip
        if self.other_plan is not None:
            found.append(f"plan   {self.other_plan}")
        if self.last_round is not None:
            missing = [name for name in self.silos if name not in self.last_round.survivors]
            found.append(
                f"last round: {len(self.last_round.survivors)} silos at {iso_time(self.last_round.at)}"
                + (f"; without {', '.join(missing)}" if missing else "")
            )
        if self.last_line is not None:
            found.append(f"log    {self.last_line.get('time', '')} {self.last_line.get('event', '')}")
        if not self.abort_requested:
            found.append(f"{'to stop' if self.state is RunState.RUNNING else 'next'}: {self.next_command}")
        return found

    def _state_text(self) -> str:
        match self.state:
            case RunState.RUNNING:
                under_way = min(self.planned, len(self.spent.completed) + len(self.spent.lost) + 1)
                asked = "; it stops before the next attempt, as asked" if self.abort_requested else ""
                stands = f"; waiting for {', '.join(self.absent)}" if self.waiting else ""
                return f"running, round {under_way} of {self.planned}{stands}{asked}"
            case RunState.STOPPED | RunState.ABORTED:
                return f"{self.state}: {self.reason}"
            case RunState.INTERRUPTED:
                return "interrupted: its process ended without a word"
            case state:
                return str(state)


def read_run_status(path: Path) -> RunStatus:
    """Reads how the training in a server's folder stands. Changes nothing.

    Raises:
        ConfigurationError: if there is no plan, or a file cannot be read.
        LedgerError: if the ledger's chain is broken, or it belongs to another plan than the training's.
    """
    try:
        return _read(ServerFolder(path))
    except OSError as error:
        raise ConfigurationError(
            f"the server's folder must be readable; {error.filename}: {error.strerror}."
        ) from None


def _read(folder: ServerFolder) -> RunStatus:
    # Before the files: what ends between the two reads is then still "running", never "interrupted".
    running = folder.stopping.running
    record = begun_record(folder.run)
    # What was spent follows from the plan that it was spent under, whatever lies beside the run by now.
    plan = load_plan(folder.plan) if record is None else record.plan
    spent = spending(()) if record is None else record.spending
    state, reason = _state(folder, running=running, begun=record is not None)
    whole = plan.spent(plan.releases)
    log = read_lines(folder.log.read_bytes()) if folder.log.exists() else []
    return RunStatus(
        folder=folder.path,
        state=state,
        reason=reason,
        plan=plan.digest(),
        name=shown(plan.name),
        silos=tuple(map(shown, plan.facts.silos)),
        absent=_absent(plan.facts.silos, log) if running else (),
        floor=max(plan.thresholds.threshold, plan.thresholds.min_survivors),
        planned=plan.releases,
        spent=spent,
        epsilon=plan.spent(spent.charged).epsilon if spent.charged else None,
        delta=whole.delta,
        epsilon_planned=whole.epsilon,
        last_round=_last_round(folder.run, spent),
        last_line=log[-1] if log else None,
        abort_requested=running and folder.stopping.requested,
        sealed=folder.run.file("manifest.json").exists(),
        other_plan=None if record is None else _other_plan(folder, plan),
    )


def _other_plan(folder: ServerFolder, plan: Plan) -> str | None:
    try:
        beside = load_plan(folder.plan).digest()
    except ConfigurationError as error:
        return shown(f"the plan beside run/ cannot be compared: {error}", 2000)
    if beside == plan.digest():
        return None
    return (
        f"{folder.plan} is another plan ({beside[:16]}) than that of this training ({plan.digest()[:16]}); "
        "move run/ away before it is started"
    )


def _state(folder: ServerFolder, *, running: bool, begun: bool) -> tuple[RunState, str | None]:
    if running:
        return RunState.RUNNING, None
    outcome = read_outcome(folder.outcome)
    if outcome is None:
        return (RunState.INTERRUPTED if begun else RunState.NOT_STARTED), None
    state = RunState(outcome["status"])
    return state, None if state is RunState.COMPLETED else shown(str(outcome.get("error")), 2000)


def _last_round(run: RunDirectory, spent: Spending) -> LastRound | None:
    if not spent.completed or not run.metrics.exists():
        return None
    lines = run.read_metrics()
    seconds = lines[-1].get("seconds") if lines else None
    return LastRound(
        survivors=tuple(map(shown, spent.completed[-1].survivors)),
        seconds=float(seconds) if isinstance(seconds, int | float) else None,
        at=datetime.fromtimestamp(run.metrics.stat().st_mtime, UTC),
    )


def _absent(silos: tuple[str, ...], log: list[dict[str, Value]]) -> tuple[str, ...]:
    """Returns who is missing by the last line that says so; every start begins with such a line."""
    said = next((str(line["absent"]).split(", ") for line in reversed(log) if "absent" in line), [])
    return tuple(name for name in map(shown, silos) if name in said)
