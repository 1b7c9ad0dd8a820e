"""``proposals.jsonl``: what was proposed to this silo and what it said, one JSON line each, for its owner."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path
from typing import final

from discreet.privacy.wire import canonical
from discreet.rounds.directory import write_durably
from discreet.silo.lines import read_lines, whole

KEPT = 1000
"""Lines that are kept at most when there are twice as many: half are the newest, the other half the newest of
each plan and verdict, so that one plan proposed again and again pushes no other out."""

JOINED = "joined"
"""The verdict on a proposal that was accepted; every other verdict is a `RefusalCode`."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One proposal that the policy was asked about, and its answer.

    What is refused before that (an allow-list that is not the consortium's, something that is no plan, more
    than a day may bring) costs its sender nothing: it is a line of the owner's log and none here.

    Attributes:
        number: counts all lines ever, from 1; a gap tells how many were dropped there.
        time: in ISO form, UTC, to the second.
        plan: digest.
        allow_list: serial of the allow-list with it.
        verdict: `JOINED`, or the code of the refusal.
        epsilon: what all its rounds would cost here; None where the plan was refused before that was known.
        delta: of the same guarantee.
    """

    number: int
    time: str
    plan: str
    allow_list: int
    verdict: str
    epsilon: float | None = None
    delta: float | None = None


def read_proposals(path: Path) -> tuple[Proposal, ...]:
    """Returns the proposals that are kept, oldest first; none if there is no file.

    A torn last line is ignored.

    Raises:
        LedgerError: naming the line, if a whole line is not as it was written.
    """
    return read_lines(path, Proposal)


@final
class ProposalLog:
    """The file, open for appending; a crash may lose its last line, and nothing depends on that."""

    def __init__(self, path: Path) -> None:
        """Opens the log and drops a torn last line.

        Raises:
            LedgerError: if a whole line cannot be read.
        """
        self._path = path
        kept = read_proposals(path)
        self._lines, self._last = len(kept), kept[-1].number if kept else 0
        if path.exists():
            os.truncate(path, len(whole(path.read_bytes())))

    @property
    def next(self) -> int:
        """The number of the next proposal."""
        return self._last + 1

    def append(self, proposal: Proposal) -> None:
        """Writes one line, and drops older ones when there are twice as many as are kept."""
        with self._path.open("ab") as file:
            file.write(_line(proposal))
        self._lines, self._last = self._lines + 1, proposal.number
        if self._lines > 2 * KEPT:
            lines, half = read_proposals(self._path), KEPT // 2
            distinct = sorted({(each.plan, each.verdict): each.number for each in lines}.values())
            kept = {*distinct[-half:], *(each.number for each in lines[-half:])}
            write_durably(self._path, b"".join(_line(each) for each in lines if each.number in kept))
            self._lines = len(kept)


def _line(proposal: Proposal) -> bytes:
    return canonical(dataclasses.asdict(proposal)) + b"\n"
