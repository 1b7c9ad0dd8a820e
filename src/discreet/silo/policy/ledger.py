"""A silo's own ledger: every contribution that left it, over all trainings, in one hash chain.

The entries are those of `discreet.privacy.ledger`, read from the silo's side. `Opened` and `Resumed` say
which training the following entries belong to; `Intent` is durable before a masked contribution leaves;
`Completed` follows when the silo helped to unmask it. What was not seen to complete is `Lost`, which stays
charged: a server that says "that round was aborted, once more" is not believed. In a healthy ``one-phase``
round there is nothing for a silo to see after its own message, so its rounds read as `Lost` here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Self

from discreet.privacy.ledger import (
    Aborted,
    Completed,
    Counted,
    Entry,
    Intent,
    LedgerWriter,
    Lost,
    Opened,
    Resumed,
    Spending,
    charged_in,
    spending,
)


@dataclass(frozen=True, slots=True)
class SiloLedger:
    """The open ledger of one silo; holds the file's lock while it lives."""

    writer: LedgerWriter

    @classmethod
    def open(cls, path: Path) -> Self:
        """Opens or creates the ledger and verifies its chain.

        Raises:
            LedgerError: if the chain is broken or another process writes it.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        return cls(LedgerWriter.open(path))

    def trainings(self) -> dict[str, Spending]:
        """Returns what every training spent here, by plan digest."""
        return spent_by_training(self.writer.entries)

    def join(self, plan_digest: str, *, seeded: bool) -> None:
        """Turns to a training, new or old; contributions that an interruption left open are lost.

        To be called before the first contribution of a session: a training that a silo only agreed to leaves
        nothing here.
        """
        entries = self.writer.entries
        for plan, spent in self.trainings().items():
            if spent.pending is not None:
                self._turn_to(plan)
                self.writer.append(
                    Lost(spent.pending.release, "the silo cannot know whether it was unmasked")
                )
        if plan_digest in by_training(entries):
            self.writer.append(Resumed(plan_digest))
        else:
            self.writer.append(Opened(plan_digest, "seeded" if seeded else "secure"))

    def charged(self, year: int | None = None) -> dict[str, Counted]:
        """Returns how many releases of every training are charged: in all, or to ``year`` or its last."""
        return charged_by_training(self.writer.entries, year)

    def charged_next(
        self, plan_digest: str, part: str | None, *, year: int | None = None, forgiven: bool = False
    ) -> Counted:
        """Returns how many releases of a training are charged once one more contribution has left.

        Args:
            plan_digest: the training.
            part: of the plan, that the contribution is to.
            year: of the contribution, which alone is then looked at, as in `charged`.
            forgiven: whether the contribution that is open is then taken back, in the year that it was in.
        """
        entries = self.writer.entries
        pending = self.trainings()[plan_digest].pending if forgiven else None
        if pending is not None:
            entries = (*entries, Resumed(plan_digest), Aborted(pending.release, "forgiven"))
        charged = charged_by_training(entries, year).get(plan_digest, {})
        return Counter(charged) + Counter({part: 1})

    def contribute(self, plan_digest: str, started_from: str, today: date, *, part: str | None = None) -> int:
        """Records durably that a masked contribution to a part is about to leave; returns its number."""
        release = self.trainings()[plan_digest].charged + 1
        self.writer.append(Intent(release, started_from, today.isoformat(), part))
        return release

    def complete(self, release: int, survivors: tuple[str, ...], transcript: str) -> None:
        """Records that this silo helped to unmask a release."""
        self.writer.append(Completed(release, survivors, transcript, led_to=None))

    def settle(self, plan_digest: str, *, believe_abort: bool) -> None:
        """Ends a contribution that was never unmasked as far as this silo knows.

        Args:
            plan_digest: the training.
            believe_abort: True only if the plan's trust model takes the server at its word; the contribution
                is then not charged.
        """
        pending = self.trainings()[plan_digest].pending
        if pending is None:
            return
        ending = (
            Aborted(pending.release, "server-aborted")
            if believe_abort
            else Lost(pending.release, "this silo did not see it end; it may have been unmasked")
        )
        self.writer.append(ending)

    def _turn_to(self, plan_digest: str) -> None:
        self.writer.append(Resumed(plan_digest))

    def close(self) -> None:
        """Releases the lock."""
        self.writer.close()


def spent_by_training(entries: tuple[Entry, ...]) -> dict[str, Spending]:
    """Returns what every training spent at a silo, by plan digest."""
    return {plan: spending(own) for plan, own in by_training(entries).items()}


def charged_by_training(entries: tuple[Entry, ...], year: int | None = None) -> dict[str, Counted]:
    """Returns how many releases of every training are charged, to ``year`` if one is given, by plan digest.

    A clock that went back begins no year anew: the ledger's latest year stands where it is later.
    """
    if year is None:
        return {plan: charged_in(own) for plan, own in by_training(entries).items()}
    days = [entry.day for entry in entries if isinstance(entry, Intent) and entry.day is not None]
    year = max([year, *(int(day[:4]) for day in days)])
    return {plan: charged_in(own, year) for plan, own in by_training(entries).items()}


def by_training(entries: tuple[Entry, ...]) -> Mapping[str, list[Entry]]:
    """Splits a silo's entries by the training that they belong to."""
    trainings: dict[str, list[Entry]] = {}
    current: list[Entry] = []
    for entry in entries:
        if isinstance(entry, Opened | Resumed):
            current = trainings.setdefault(entry.plan_digest, [])
        current.append(entry)
    return trainings
