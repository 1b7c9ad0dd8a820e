"""How much one day may bring: new plans, by the policy, and proposals of any kind, by a constant.

Whoever may propose could otherwise ask about a new plan every second, and fill the silo's disk. The counts
lie in the state folder, so that a restart does not begin the day anew. Nothing here knows a record.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Set
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Self

from discreet.documents import read_json
from discreet.errors import LedgerError
from discreet.privacy.typed import build
from discreet.privacy.wire import canonical
from discreet.rounds.directory import write_durably
from discreet.silo.policy import PolicyRefusal, RefusalCode

PROPOSALS_PER_DAY = 10_000
"""Proposals of any plan in one day, known ones included; each may write about a hundred bytes that stay. A
training asks once for every setup of keys, so it would have to make one every nine seconds to come so far."""


@dataclass(frozen=True, slots=True)
class Intake:
    """What came on one day.

    Attributes:
        day: in ISO form, UTC.
        plans: digests that were new on that day, in order.
        proposals: all of that day, repeated ones included.
    """

    day: str
    plans: tuple[str, ...] = ()
    proposals: int = 0

    @classmethod
    def load(cls, path: Path, today: date) -> Self:
        """Returns the counts of today; those of another day are over.

        Raises:
            LedgerError: if the file is not as it was written.
        """
        try:
            data = read_json(path.read_bytes())
            found = build(cls, {**data, "plans": tuple(data["plans"])})
        except FileNotFoundError:
            return cls(today.isoformat())
        except (ValueError, KeyError, TypeError) as error:
            raise LedgerError(f"{path.name} must be as this silo wrote it; {error}") from None
        return found if found.day == today.isoformat() else cls(today.isoformat())

    def save(self, path: Path) -> None:
        """Writes the counts durably."""
        write_durably(path, canonical(dataclasses.asdict(self)))

    def admit(self, digest: str, *, known: Set[str], new_plans: int) -> Self:
        """Counts one more proposal.

        Args:
            digest: of the proposed plan.
            known: plans that are not new whenever they come: those in the ledger and those a person approved.
            new_plans: the policy's limit.

        Raises:
            PolicyRefusal: code ``proposals``, if the day's limit is reached. It depends on digests only.
        """
        if self.proposals >= PROPOSALS_PER_DAY:
            raise PolicyRefusal(
                RefusalCode.PROPOSALS,
                f"at most {PROPOSALS_PER_DAY} proposals may come in a day, and they have; propose again "
                "tomorrow (UTC).",
            )
        new = digest not in known and digest not in self.plans
        if new and len(self.plans) >= new_plans:
            raise PolicyRefusal(
                RefusalCode.PROPOSALS,
                f"at most {new_plans} new plans may be proposed to this silo in a day, and they were; "
                "propose this one tomorrow (UTC), or ask the data owner to raise 'proposals.per_day'.",
            )
        plans = (*self.plans, digest) if new else self.plans
        return dataclasses.replace(self, plans=plans, proposals=self.proposals + 1)
