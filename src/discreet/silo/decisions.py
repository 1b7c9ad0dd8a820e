"""``decisions.jsonl``: what a person decided on which plan, when and why; one line each, never removed."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from discreet.plan import Plan
from discreet.privacy.wire import canonical
from discreet.silo.lines import read_lines, whole
from discreet.silo.state import SiloState

APPROVED, REFUSED = "approved", "refused"


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided; not who it was.

    Attributes:
        time: in ISO form, UTC, to the second.
        plan: digest.
        name: what the plan's config calls it: the sender's words.
        verdict: `APPROVED` or `REFUSED`.
        reason: in the words of who decided; empty if none was given.
    """

    time: str
    plan: str
    name: str
    verdict: str
    reason: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in (APPROVED, REFUSED):
            raise ValueError(f"a decision must be {APPROVED!r} or {REFUSED!r}; got {self.verdict!r}.")


def decide(state: SiloState, plan: Plan, verdict: str, now: datetime, reason: str = "") -> None:
    """Records what a person decided on a plan, and writes it down with the time.

    Guarantee:
        The decision stands before it is written down: a line that cannot be written lets no refused plan in.

    Args:
        state: of the silo.
        plan: what was decided on.
        verdict: `APPROVED` or `REFUSED`; the last one on a plan counts.
        now: with its zone.
        reason: for the owner's records; nobody else is told.
    """
    digest = plan.digest()
    if verdict == APPROVED:
        state.approve(digest)
    else:
        state.refuse(digest)
    time = now.astimezone(UTC).isoformat(timespec="seconds")
    _append(state.decisions, Decision(time, digest, plan.name, verdict, reason))


def read_decisions(path: Path) -> tuple[Decision, ...]:
    """Returns all decisions, oldest first; none if there is no file. A torn last line is ignored.

    Raises:
        LedgerError: naming the line, if a whole line is not as it was written.
    """
    return read_lines(path, Decision)


def _append(path: Path, decision: Decision) -> None:
    if path.exists():
        os.truncate(path, len(whole(path.read_bytes())))
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as file:
        file.write(canonical(dataclasses.asdict(decision)) + b"\n")
        file.flush()
        os.fsync(file.fileno())
