"""``page.html`` in a silo's state folder: read from its own files, and written again after each event."""

from __future__ import annotations

import os
import shlex
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import final

from discreet.engines.flower.occupancy import occupied
from discreet.errors import DiscreetError
from discreet.plan import Plan
from discreet.plan.judged import public_units
from discreet.privacy.ledger import Entry, read_ledger
from discreet.report.owner_decisions import History
from discreet.report.owner_page import OwnerView, Process, render_owner_page
from discreet.report.owner_waiting import Waiting
from discreet.rounds.directory import write_durably
from discreet.silo.check import released
from discreet.silo.decisions import APPROVED, REFUSED, Decision, read_decisions
from discreet.silo.events import RequestArrived, SiloEvent, TrainingEnded, TrainingJoined
from discreet.silo.policy import Charge, Policy, read_plan
from discreet.silo.proposals import Proposal, read_proposals
from discreet.silo.spending import Odometer, odometer, proposed
from discreet.silo.state import SiloState

PAGE = "page.html"
_MOST_PROPOSALS = 50
# A round's events come in a burst; one page is enough for them.
_PAUSE_SECONDS = 1.0


def owner_view(policy: Policy, path: Path, now: datetime, process: Process | None = None) -> OwnerView:
    """Reads everything that the owner's page shows; never raises for what a file of the silo holds.

    Args:
        policy: the silo's.
        path: of the policy, for the commands on the page.
        now: with its zone.
        process: the one that serves the silo, if it asks.
    """
    problems: list[str] = []
    entries: tuple[Entry, ...] = ()
    found: Odometer | None = None
    waiting: tuple[Waiting, ...] | None = None
    proposals: tuple[Proposal, ...] = ()
    ledger = policy.state / "ledger.jsonl"
    today = now.astimezone(UTC).date()
    try:
        SiloState(policy).check_anchor()
        entries = tuple(line.entry for line in read_ledger(ledger)) if ledger.exists() else ()
        found = odometer(policy, entries, today)
        problems += [found.unfixed] if found.unfixed else []
        waiting = tuple(_waiting(policy, path, entries, now, found, problems))
    except DiscreetError as error:
        problems.append(f"what was spent cannot be told: {error}")
    try:
        proposals = read_proposals(policy.state / "proposals.jsonl")[-_MOST_PROPOSALS:]
    except DiscreetError as error:
        problems.append(str(error))
    history = _history(policy, found, proposals, problems)
    if today > policy.expires:
        problems.append(f"the policy's last day was {policy.expires}; this silo takes part in nothing")
    return OwnerView(
        silo=policy.silo,
        written=now.astimezone(UTC).isoformat(sep=" ", timespec="seconds").removesuffix("+00:00"),
        expires=policy.expires.isoformat(),
        serving=ledger.exists() and occupied(ledger),
        process=process,
        odometer=found,
        per_training=(policy.budget.max_epsilon_per_training, policy.budget.max_delta_per_training),
        waiting=waiting,
        asks_a_person=policy.require.approval == "person",
        history=history,
        proposals=proposals,
        problems=tuple(problems),
        renew=_command("page", path),
    )


def write_owner_page(
    policy: Policy, path: Path, now: datetime, out: Path | None = None, *, process: Process | None = None
) -> Path:
    """Writes the page, never readable by another user than this one, and returns where.

    Raises:
        OSError: if it cannot be written.
    """
    place = policy.state / PAGE if out is None else out
    page = render_owner_page(owner_view(policy, path, now, process))
    write_durably(place, page.encode("utf-8"), mode=0o600)
    return place


def _history(
    policy: Policy, found: Odometer | None, proposals: tuple[Proposal, ...], problems: list[str]
) -> History:
    """Returns what was decided; a file that cannot be read is a problem, and what stands is shown."""
    state = SiloState(policy)
    decisions: tuple[Decision, ...] = ()
    try:
        decisions = read_decisions(policy.state / "decisions.jsonl")
    except DiscreetError as error:
        problems.append(str(error))
    last = {(one.plan, one.verdict) for one in decisions}
    stand = {(plan, APPROVED) for plan in state.approved()} | {(plan, REFUSED) for plan in state.refused()}
    trainings = () if found is None else found.trainings
    return History(decisions, tuple(sorted(stand - last)), trainings, proposals)


def _waiting(  # noqa: PLR0917 - all of it is one silo's
    policy: Policy,
    path: Path,
    entries: tuple[Entry, ...],
    now: datetime,
    budget: Odometer,
    problems: list[str],
) -> list[Waiting]:
    """Returns the plans that wait; one that cannot be read is a problem, and hides no other."""
    state = SiloState(policy)
    decided = state.approved() | state.refused()
    found = []
    for file in sorted((policy.state / "pending").glob("*.json")):
        if file.stem not in decided:
            try:
                found.append(_one(policy, path, entries, now, budget, read_plan(file.read_bytes())))
            except (DiscreetError, OSError) as error:
                problems.append(f"a plan that waits cannot be shown, {file.name}: {error}")
    return found


def _one(  # noqa: PLR0917 - all of it is one plan's
    policy: Policy, path: Path, entries: tuple[Entry, ...], now: datetime, budget: Odometer, plan: Plan
) -> Waiting:
    file = policy.state / "pending" / f"{plan.digest()}.json"
    return Waiting(
        silo=policy.silo,
        budget=budget,
        proposed=proposed(policy, entries, now.astimezone(UTC).date(), plan),
        cost=Charge.under(plan, policy).whole,
        units=public_units(plan),
        sends=released(plan, policy.silo),
        approve=_command("approve", path, file),
        refuse=_command("refuse", path, file),
        check=_line("check", path, file),
    )


def _command(verb: str, *paths: Path) -> str:
    return _line("silo", verb, *paths)


def _line(*words: str | Path) -> str:
    """Returns a line for a shell, which works in whatever folder it is typed."""
    return shlex.join(
        ["discreet", *(os.fspath(word.absolute() if isinstance(word, Path) else word) for word in words)]
    )


@final
class OwnerPage:
    """Keeps the page up to date in a thread of its own; a page that cannot be written stops nothing.

    Args:
        policy: the silo's.
        path: of the policy.
        warn: hears once that the page cannot be written.
        pause: seconds between two pages at least.
    """

    def __init__(
        self, policy: Policy, path: Path, warn: Callable[[str], None], *, pause: float = _PAUSE_SECONDS
    ) -> None:
        self._policy, self._path, self._warn, self._pause = policy, path, warn, pause
        self._due, self._over = threading.Event(), threading.Event()
        self._failed = False
        self._process = Process(None)
        self._due.set()
        self._thread = threading.Thread(target=self._keep, name="owner's page", daemon=True)
        self._thread.start()

    def observe(self, event: SiloEvent) -> None:
        """Asks for a new page after what happened; returns at once."""
        match event:
            case RequestArrived():
                return
            case TrainingJoined(plan=plan):
                self._process = Process(plan)
            case TrainingEnded():
                self._process = Process(None)
            case _:
                pass
        self.renew()

    def renew(self) -> None:
        """Asks for a new page; returns at once."""
        self._due.set()

    def close(self) -> None:
        """Writes the last page and ends the thread."""
        self._over.set()
        self._due.set()
        self._thread.join(timeout=30.0)

    def _keep(self) -> None:
        while True:
            self._due.wait()
            self._due.clear()
            last = self._over.is_set()
            self._write()
            if last:
                return
            self._over.wait(self._pause)

    def _write(self) -> None:
        try:
            write_owner_page(self._policy, self._path, datetime.now(UTC), process=self._process)
            self._failed = False
        except Exception as error:  # whatever it is, the silo goes on
            if not self._failed:
                self._warn(f"the owner's page cannot be written; {type(error).__name__}: {error}")
            self._failed = True
