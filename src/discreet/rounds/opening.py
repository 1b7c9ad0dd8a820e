"""Opening a run's ledger: for a new training, or for one that goes on from what is on disk."""

from __future__ import annotations

from discreet.errors import ConfigurationError, LedgerError
from discreet.plan import Plan
from discreet.privacy.ledger import Completed, Intent, LedgerWriter, Lost, Opened, Resumed, Spending, spending
from discreet.rounds.directory import RunDirectory, SavedState
from discreet.rounds.judging import evaluated_from, stops
from discreet.rounds.record import read_record
from discreet.rounds.state import Training


def open_ledger(
    directory: RunDirectory, plan: Plan, *, seeded: bool, overwrite: bool = False
) -> LedgerWriter:
    """Makes the directory ready for a new training, keeps its plan there, and opens its ledger.

    Raises:
        ConfigurationError: if something else lies there; see `RunDirectory.require_free`.
    """
    directory.prepare(overwrite=overwrite)
    plan.save(directory.plan)
    ledger = LedgerWriter.open(directory.ledger)
    ledger.append(Opened(plan.digest(), "seeded" if seeded else "secure"))
    return ledger


def resume_ledger(directory: RunDirectory, plan: Plan, *, seeded: bool) -> LedgerWriter:
    """Reopens the ledger of an interrupted training and settles what the interruption left open.

    An intent without an end is `Completed` if the state that followed it is on disk, otherwise `Lost`:
    its sum may have been seen, so it stays charged and is never repeated. Where every round is charged there
    is nothing to go on with, and nothing is appended, unless the last release has no line in the metrics:
    that a process died there is then on record. Nothing is appended either where the saved state is another.

    Raises:
        ConfigurationError: if a file of the directory is a link or a device, or holds another plan.
        LedgerError: if the ledger is of another plan or randomness, is broken, or is not of the saved state.
    """
    record = read_record(directory.path)
    if record.plan.digest() != plan.digest():
        raise ConfigurationError(
            f"{directory.path} must hold the plan that goes on, {plan.digest()[:12]}…; it holds "
            f"{record.plan.digest()[:12]}…. Only 'run' and 'speed' of a config may change; or move the "
            "folder away."
        )
    if record.seeded != seeded:
        raise LedgerError(
            f"a training must go on {'with' if record.seeded else 'without'} 'run.seed', as begun; got "
            f"{'one' if seeded else 'none'}. {'Leave it out' if seeded else 'Give it'}."
        )
    ledger = LedgerWriter.open(directory.ledger)
    try:
        spent = spending(ledger.entries)
        _require_state_of(directory, spent)
        if spent.pending is not None:
            _settle(directory, ledger, spent.pending)
        if not finished(plan, directory, spending(ledger.entries)) or _without_metrics(directory, ledger):
            ledger.append(Resumed(plan.digest()))
    except LedgerError:
        ledger.close()
        raise
    return ledger


def restore(directory: RunDirectory, ledger: LedgerWriter, start: Training) -> Training:
    """Returns the state after the last completed release, or ``start`` if there is none.

    Raises:
        LedgerError: if the saved state is not the one that the ledger names.
    """
    completed = spending(ledger.entries).completed
    if not completed:
        return start
    return start.from_arrays(_state_of(directory, completed[-1]).arrays)


def finished(plan: Plan, directory: RunDirectory, spent: Spending) -> bool:
    """Says whether nothing more of ``plan`` is released: all is charged, or evaluations said to stop.

    Raises:
        LedgerError: if the state that says so cannot be read.
    """
    if spent.charged >= plan.releases or not spent.completed or plan.evaluation is None:
        return spent.charged >= plan.releases
    return stops(plan, evaluated_from(directory.load_state().arrays))


def _state_of(directory: RunDirectory, last: Completed) -> SavedState:
    saved = directory.load_state()
    if saved.digest != last.led_to:
        raise LedgerError("state.safetensors must be the state that the ledger names; it was altered.")
    return saved


def _require_state_of(directory: RunDirectory, spent: Spending) -> None:
    """Refuses a state that neither the last completed release nor the one under way led to."""
    if spent.completed and not _led_to(directory, spent.pending):
        _state_of(directory, spent.completed[-1])


def _led_to(directory: RunDirectory, pending: Intent | None) -> SavedState | None:
    """Returns the saved state if it is the one that a release without an end led to."""
    if pending is None or not directory.state.exists():
        return None
    saved = directory.load_state()
    return saved if saved.made.release == pending.release else None


def _settle(directory: RunDirectory, ledger: LedgerWriter, pending: Intent) -> None:
    if (saved := _led_to(directory, pending)) is not None:
        ledger.append(Completed(pending.release, saved.made.survivors, saved.made.transcript, saved.digest))
        return
    ledger.append(Lost(pending.release, "the process ended between intent and completion"))


def _without_metrics(directory: RunDirectory, ledger: LedgerWriter) -> bool:
    last = ledger.entries[-1]
    return isinstance(last, Completed) and last.release not in {
        line["release"] for line in directory.read_metrics()
    }
