"""The anchor: how far the ledger had come, kept outside the state folder, so that an older ledger is noticed.

A ledger that was restored from a backup has a whole hash chain; only something that was not restored with it
can tell that it was longer once. See docs/adr/0055.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.documents import read_json
from discreet.errors import ConfigurationError, LedgerError
from discreet.privacy.ledger import GENESIS, Intent, Line
from discreet.privacy.notation import delta_text, epsilon_text
from discreet.privacy.typed import build
from discreet.privacy.wire import canonical
from discreet.rounds.directory import write_durably

_REMEDY = (
    "put the newest ledger back, or decide upon a new budget: name a new 'state' and a new 'anchor' in the "
    "policy, and take what was charged off its limits"
)


@dataclass(frozen=True, slots=True)
class Anchor:
    """How far a silo's ledger had come when a contribution was about to leave.

    Attributes:
        silo: whose ledger it is.
        lines: how many lines the ledger had.
        head: digest of the last of them.
        epsilon: what all trainings together had cost by then, that contribution included.
        delta: of the same.
        limits: digest of what the budget rests on, which lies in the state folder; None if none is known.
    """

    silo: str
    lines: int = 0
    head: str = GENESIS
    epsilon: float = 0.0
    delta: float = 0.0
    limits: str | None = None

    @property
    def charged(self) -> str:
        """What was charged, for a person."""
        return f"{epsilon_text(self.epsilon)} and {delta_text(self.delta)}"

    def save(self, path: Path) -> None:
        """Writes the anchor durably.

        Raises:
            ConfigurationError: if it cannot be written.
        """
        try:
            write_durably(path, canonical(dataclasses.asdict(self)) + b"\n")
        except OSError as error:
            raise ConfigurationError(
                f"the anchor must be writable; {path}: {error.strerror}. Name another place by 'anchor' in "
                "the policy."
            ) from None

    def require_part_of(self, ledger: Sequence[Line]) -> None:
        """Compares a ledger with what it was when this anchor was written; it may have grown since.

        Raises:
            LedgerError: if it is older, or another.
        """
        if self.lines == 0 or (len(ledger) >= self.lines and ledger[self.lines - 1].digest() == self.head):
            return
        what = f"has {len(ledger)}" if len(ledger) < self.lines else "has others"
        raise LedgerError(
            f"the ledger must hold the {self.lines} lines that its anchor counts; it {what}, as if it had "
            f"been restored from a backup or lost. By then {self.charged} had been charged: {_REMEDY}."
        )


def read_anchor(path: Path, silo: str) -> Anchor | None:
    """Returns the anchor at ``path``; None if there is none.

    Raises:
        LedgerError: if it cannot be read, or is another silo's.
    """
    try:
        found = build(Anchor, read_json(path.read_bytes()))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerError(f"the anchor must be readable; {path}: {error.strerror}.") from None
    except ValueError as error:
        raise LedgerError(f"the anchor {path} must be as this silo wrote it; {error}") from None
    if found.silo != silo:
        raise LedgerError(
            f"every silo must have an anchor of its own; {path} is that of {found.silo!r}, not {silo!r}. "
            "Name another place by 'anchor' in the policy."
        )
    return found


def require_anchored(path: Path, silo: str, read_lines: Callable[[], Sequence[Line]]) -> Anchor:
    """Returns the anchor of a ledger; a new one if nothing ever left the silo and there is none.

    Raises:
        LedgerError: saying what to do, if the ledger is older than its anchor, or has lost it.
    """
    # The anchor first: a silo that serves meanwhile only adds to its ledger, and no anchor is ahead of it.
    anchor = read_anchor(path, silo)
    ledger = read_lines()
    if anchor is not None:
        anchor.require_part_of(ledger)
        return anchor
    if any(isinstance(line.entry, Intent) for line in ledger):
        raise LedgerError(
            f"a ledger with contributions must have its anchor; {path} is missing, so this ledger may be an "
            "older one. Put the anchor back; if it is lost and this ledger was not restored from a backup, "
            f"say so by 'discreet silo anchor POLICY'. Otherwise {_REMEDY}."
        )
    return Anchor(silo)
