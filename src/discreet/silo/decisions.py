"""``decisions.jsonl``: what a person here decided on a plan, when and why, one JSON line each."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import ConfigurationError
from discreet.privacy.wire import canonical
from discreet.silo.lines import read_lines

DECISIONS = "decisions.jsonl"
APPROVED, REFUSED = "approved", "refused"
_LONGEST_REASON = 500


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision; who took it is not asked.

    Attributes:
        time: in ISO form, UTC, to the second.
        plan: digest.
        decision: `APPROVED` or `REFUSED`.
        reason: in the person's own words; may be empty.

    Raises:
        ConfigurationError: if the reason is long or has control characters, or the decision is another.
    """

    time: str
    plan: str
    decision: str
    reason: str = ""

    def __post_init__(self) -> None:
        if self.decision not in (APPROVED, REFUSED):
            raise ConfigurationError(f"a decision must be {APPROVED} or {REFUSED}; got {self.decision!r}.")
        if not (len(self.reason) <= _LONGEST_REASON and self.reason.isprintable()):
            raise ConfigurationError(
                f"a reason must be one line of at most {_LONGEST_REASON} characters; got {len(self.reason)}. "
                "Shorten --reason."
            )


def read_decisions(path: Path) -> tuple[Decision, ...]:
    """Returns the decisions, oldest first; none if there is no file. A torn last line is ignored.

    Raises:
        LedgerError: naming the line, if a whole line is not as it was written.
    """
    return read_lines(path, Decision)


def add_decision(path: Path, decision: Decision) -> None:
    """Writes one line behind the others, and waits until it is on disk; only the silo's user can read it."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(handle, "ab") as file:
        file.write(canonical(dataclasses.asdict(decision)) + b"\n")
        file.flush()
        os.fsync(file.fileno())
