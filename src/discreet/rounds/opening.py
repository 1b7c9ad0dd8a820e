"""Opening a run's ledger: for a new training, or for one that goes on from what is on disk."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from discreet.errors import ConfigurationError, LedgerError
from discreet.kinds.float_error import MAX_NORM, MIN_NORM
from discreet.plan import Plan
from discreet.privacy.ledger import Completed, Intent, LedgerWriter, Lost, Opened, Resumed, Spending, spending
from discreet.rounds.directory import RunDirectory, SavedState
from discreet.rounds.judging import best, evaluated_from, stops
from discreet.rounds.record import read_record
from discreet.rounds.state import Training, announced_digest, initial_state
from discreet.rounds.written import counts_completed, counts_stated, written_state


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
    What a write that was killed left behind is removed.

    The state that a release under way led to is in no line of the ledger yet. It must be one that the
    plan's training writes, with survivors that were asked, and with the model that the intent names where the
    release was to change none. Finite weights that a round led to are taken as they are.

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
        for left in directory.half_written():  # the ledger's lock says that no training writes here
            left.unlink(missing_ok=True)
        spent = spending(ledger.entries)
        led_to = _led_to(plan, directory, spent)
        if spent.completed and led_to is None:
            directory.state_after(spent.completed[-1])
        if spent.pending is not None:
            _settle(ledger, spent.pending, led_to)
        if not finished(plan, directory, spending(ledger.entries)) or _without_metrics(directory, ledger):
            ledger.append(Resumed(plan.digest()))
    except BaseException:
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
    return start.from_arrays(directory.state_after(completed[-1]).arrays)


def finished(plan: Plan, directory: RunDirectory, spent: Spending) -> bool:
    """Says whether nothing more of ``plan`` is released: all is charged, or evaluations said to stop.

    Raises:
        LedgerError: if the state that says so cannot be read.
    """
    if spent.charged >= plan.releases or not spent.completed or plan.evaluation is None:
        return spent.charged >= plan.releases
    return stops(plan, evaluated_from(directory.load_state().arrays))


def _led_to(plan: Plan, directory: RunDirectory, spent: Spending) -> SavedState | None:
    """Returns the saved state if it is the one that a release without an end led to.

    Raises:
        LedgerError: if that release was to ask about a model, and the state has another one; or it is a
            state that the release leads to from nowhere.
    """
    pending = spent.pending
    if pending is None or not directory.state.exists():
        return None
    saved = directory.load_state()
    if saved.made.release != pending.release:
        return None
    if not plan.order.trains(pending.release) and _before(plan, saved) != pending.started_from:
        raise LedgerError("state.safetensors must hold the model that the open release asks about; not so.")
    if not _may_follow(plan, saved, spent.completed):
        raise LedgerError(
            f"state.safetensors must be a state that release {pending.release} of the plan can lead to; not "
            "so. Take the file as it was written."
        )
    return saved


def _may_follow(plan: Plan, saved: SavedState, completed: Sequence[Completed]) -> bool:
    """Says whether a training writes such a state, all finite, behind these releases and its own."""
    made = saved.made
    # Each once and in the plan's order, as `verify` asks of the line that they come into.
    known = tuple(silo for silo in plan.asked(made.release) if silo in made.survivors)
    if known != made.survivors or not len(known) >= plan.thresholds.min_survivors:
        return False
    state, arrays = written_state(plan, saved.arrays), saved.arrays
    if state is None or not all(np.isfinite(one).all() for one in arrays.values()):
        return False
    if state.clip_norm is not None and not MIN_NORM <= state.clip_norm <= MAX_NORM:
        return False
    every = (*completed, Completed(made.release, made.survivors, made.transcript, saved.digest))
    return (
        re.fullmatch(r"[0-9a-f]{64}", made.transcript) is not None
        and counts_stated(arrays) == counts_completed(plan, every)
        and (state.kept is None) == (best(plan, state.evaluated) is None)
    )


def _before(plan: Plan, saved: SavedState) -> str | None:
    """Returns the digest of what silos were told before a release that leaves the model as it is."""
    release = saved.made.release
    try:
        after = initial_state(plan, saved.arrays["parameters"]).from_arrays(saved.arrays)
        before = replace(after, prepared=None) if plan.order.prepares(release) else after
        return announced_digest(plan, before, release)
    except (KeyError, ValueError, TypeError, IndexError, ArithmeticError):  # arrays that no training wrote
        return None


def _settle(ledger: LedgerWriter, pending: Intent, saved: SavedState | None) -> None:
    if saved is not None:
        ledger.append(Completed(pending.release, saved.made.survivors, saved.made.transcript, saved.digest))
        return
    ledger.append(Lost(pending.release, "the process ended between intent and completion"))


def _without_metrics(directory: RunDirectory, ledger: LedgerWriter) -> bool:
    last = ledger.entries[-1]
    return isinstance(last, Completed) and last.release not in {
        line["release"] for line in directory.read_metrics()
    }
