"""The server's job: load the agreed plan, gather silos, walk the rounds, leave durable files behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Protocol

from discreet.engines.flower.engine import FlowerEngine, Proposal
from discreet.engines.flower.occupancy import occupy
from discreet.engines.flower.outcome import write_outcome
from discreet.engines.flower.stopping import Stopping
from discreet.engines.flower.wire import Wire, await_nodes
from discreet.errors import ConfigurationError, DiscreetError
from discreet.log_line import Level, Value, log_now
from discreet.models import flatten
from discreet.plan import load_plan
from discreet.plan.public_model import public_model
from discreet.privacy.ledger import spending
from discreet.randomness import SecureRandom
from discreet.rounds import (
    RoundReport,
    RunDirectory,
    RunRecord,
    Training,
    begun_record,
    initial_state,
    open_ledger,
    restore,
    resume_ledger,
    train,
    write_model,
)
from discreet.silo.policy import SignedAllowList

# What a run directory holds before its ledger's first line.
_UNBEGUN = {"plan.json", "ledger.jsonl"}


@dataclass(frozen=True, slots=True)
class ServerFolder:
    """The server's files: what it was given, and the run directory that it writes.

    Attributes:
        path: holds ``plan.json``, ``allow-list.json`` and the model's public weights; gets
            ``run/``, ``server.log``, ``outcome.json``, ``server.lock``, ``server.working``, and
            ``abort.request`` from an operator who wants an end.
    """

    path: Path

    @property
    def plan(self) -> Path:
        """What the next start is to carry out; a training that has begun keeps its own in ``run/``."""
        return self.path / "plan.json"

    def weights(self, name: str) -> str:
        """Returns the path of a file of public weights that a plan names, which lies here beside it."""
        return str(self.path / PurePath(name).name)

    @property
    def run(self) -> RunDirectory:
        """Ledger, metrics, checkpoints and model, as of every engine."""
        return RunDirectory(self.path / "run")

    @property
    def outcome(self) -> Path:
        """How the last start ended."""
        return self.path / "outcome.json"

    @property
    def log(self) -> Path:
        """One JSON line for everything worth knowing; see `discreet.log_line`."""
        return self.path / "server.log"

    @property
    def lock(self) -> Path:
        """Held by the one server that works here."""
        return self.path / "server.lock"

    @property
    def stopping(self) -> Stopping:
        """Whether a training runs here, and how it is stopped."""
        return Stopping(self.path, self.lock)

    def proposal(self) -> Proposal:
        """Reads plan and allow-list.

        Raises:
            ConfigurationError: if one is missing or does not fit.
        """
        plan = load_plan(self.plan)
        try:
            allow_list = SignedAllowList.parse((self.path / "allow-list.json").read_bytes())
        except OSError as error:
            raise ConfigurationError(f"allow-list.json must be readable; got: {error.strerror}.") from None
        return Proposal(plan, plan.document(), allow_list)


def serve_training(wire: Wire, folder: ServerFolder, *, patience_seconds: float) -> Training:
    """Carries the plan in ``folder`` out over ``wire``; goes on where an earlier start was interrupted.

    However it ends, ``outcome.json`` says so, and the ledger what was spent.

    Raises:
        ConfigurationError: if another server works in ``folder``; nothing was changed or sent.
        StoppedByOperator: if an end was asked for in the folder; see `Stopping`.
        DiscreetError: if it cannot be completed.
    """
    with occupy(folder.lock), folder.stopping.heeded():
        return _serve(wire, folder, _announcer(folder.log), patience_seconds)


def _serve(wire: Wire, folder: ServerFolder, announce: _Announce, patience_seconds: float) -> Training:
    """Carries the plan out and writes down how it ended."""
    folder.outcome.unlink(missing_ok=True)
    try:
        final = _carry_out(wire, folder, announce, patience_seconds)
    except DiscreetError as error:
        announce(f"stopped: {error}", Level.ERROR)
        write_outcome(folder.outcome, error=error)
        raise
    except Exception as error:
        announce(f"failed: {type(error).__name__}: {error}", Level.ERROR)
        write_outcome(folder.outcome, error=DiscreetError(f"internal error: {type(error).__name__}"))
        raise
    announce("completed")
    return final


def _carry_out(wire: Wire, folder: ServerFolder, announce: _Announce, patience_seconds: float) -> Training:
    proposal = folder.proposal()
    plan = proposal.plan
    model = public_model(plan.with_own_files(folder.weights))
    names = ", ".join(plan.facts.silos)
    announce(f"waiting for {names}", absent=names)
    await_nodes(wire, len(plan.facts.silos), patience_seconds=patience_seconds)

    def tell(event: str) -> None:
        announce(event, absent=", ".join(engine.missing))

    engine = FlowerEngine(proposal, wire, SecureRandom(), patience_seconds=patience_seconds, announce=tell)
    begun = begun_record(folder.run)
    if begun is not None and not begun.seeded:
        engine.require_secret_noise()
    engine.open()
    _clear_unbegun(folder.run, begun)
    opened = open_ledger if begun is None else resume_ledger
    with opened(folder.run, plan, seeded=engine.seeded) as ledger:
        if not engine.seeded:
            engine.require_secret_noise()
        state = restore(folder.run, ledger, initial_state(plan, flatten(model)))
        for release in spending(ledger.entries).lost:
            announce(f"{plan.order.name(release)} was lost and stays charged", Level.WARNING)
        try:
            final = train(
                plan,
                engine,
                folder.run,
                ledger,
                state,
                measure=_no_metrics,
                observe=_observer(announce, plan.digest()),
                permit=folder.stopping.require_none,
            )
        finally:
            engine.close()
        spent = spending(ledger.entries)
    write_model(folder.run, plan, model, final, spent, seeded=engine.seeded)
    write_outcome(folder.outcome, guarantee=plan.spent(plan.releases))
    return final


def _clear_unbegun(directory: RunDirectory, begun: RunRecord | None) -> None:
    """Clears what a start left that died before its ledger's first line."""
    left = {path.name: path for path in directory.path.glob("*")}
    if begun is None and left.keys() <= _UNBEGUN:
        for path in left.values():
            path.unlink()


def _no_metrics(_: Any) -> dict[str, float]:
    """Measures nothing: the server holds no records, and silos send none of their numbers."""
    return {}


class _Announce(Protocol):
    """Writes one line of the server's log."""

    def __call__(self, event: str, level: Level = Level.INFO, /, **fields: Value) -> None: ...


def _announcer(path: Path) -> _Announce:
    def announce(event: str, level: Level = Level.INFO, /, **fields: Value) -> None:
        with path.open("a", encoding="utf-8") as file:
            file.write(log_now(event, level, **fields).as_json() + "\n")

    return announce


def _observer(announce: _Announce, plan_digest: str) -> Callable[[RoundReport], None]:
    def observe(report: RoundReport) -> None:
        survivors = len(report.sum.survivors)
        found = "" if report.held_out is None else f", {', '.join(report.held_out.texts())}"
        announce(
            f"{report.text}: {survivors} silos{found}, {report.seconds:.1f} s",
            round=report.release,
            planned=report.planned,
            survivors=survivors,
            epsilon=report.spent.epsilon,
            delta=report.spent.delta,
            seconds=round(report.seconds, 3),
            plan=plan_digest,
        )

    return observe
