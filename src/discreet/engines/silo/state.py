"""A silo's files: ledger, journal, plans and the newest allow-list. Lose them and forget what was spent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import ConfigurationError, LedgerError
from discreet.plan import Plan, load_plan
from discreet.policy import (
    Account,
    Charge,
    Policy,
    PolicyRefusal,
    RefusalCode,
    SignedAllowList,
    read_plan,
)
from discreet.privacy.ledger import Spending
from discreet.rounds.directory import write_durably
from discreet.secagg import AllowList


@dataclass(frozen=True, slots=True)
class SiloState:
    """The state folder of a policy; made when it is first used."""

    policy: Policy

    @property
    def folder(self) -> Path:
        """Where everything lies."""
        self.policy.state.mkdir(parents=True, exist_ok=True, mode=0o700)
        return self.policy.state

    @property
    def ledger(self) -> Path:
        """The silo's own ledger."""
        return self.folder / "ledger.jsonl"

    @property
    def journal(self) -> Path:
        """What secure aggregation must never do twice."""
        return self.folder / "journal.bin"

    def accept_allow_list(self, document: bytes) -> AllowList:
        """Verifies an allow-list and remembers it; an older one is refused from then on.

        Raises:
            PolicyRefusal: if it is not signed by the policy's consortium, or older than one seen before.
        """
        signed = SignedAllowList.parse(document)
        keys = signed.verified(bytes.fromhex(self.policy.consortium.public_key))
        path = self.folder / "allow-list.json"
        if path.exists():
            known = SignedAllowList.parse(path.read_bytes())
            if signed.serial < known.serial or (signed.serial == known.serial and signed != known):
                raise PolicyRefusal(
                    RefusalCode.IDENTITY,
                    f"the allow-list must be serial {known.serial} as seen before, or newer; got another "
                    f"with serial {signed.serial}. Send the newest list.",
                )
        write_durably(path, document)
        return keys

    def keep_plan(self, plan: Plan) -> None:
        """Stores a plan that this silo takes part in; its cost is worked out from it for ever."""
        path = self._plan(plan.digest())
        path.parent.mkdir(exist_ok=True)
        plan.save(path)

    def account(self, trainings: Mapping[str, Spending]) -> Account:
        """Returns the account of ``trainings``, whose plans were kept.

        Raises:
            LedgerError: if a plan that the ledger names is missing: then the cost cannot be known.
        """
        charged = {}
        for digest, spent in trainings.items():
            try:
                plan = load_plan(self._plan(digest))
            except ConfigurationError as error:
                raise LedgerError(f"the plan of every training must be kept; {error}") from None
            charged[digest] = (Charge.under(plan, self.policy), spent.charged)
        return Account(charged)

    def keep_pending(self, document: bytes) -> Path:
        """Stores a plan that waits for a person, and returns where."""
        path = self.folder / "pending" / f"{read_plan(document).digest()}.json"
        path.parent.mkdir(exist_ok=True)
        write_durably(path, document)
        return path

    def approve(self, digest: str) -> None:
        """Records a person's approval."""
        path = self.folder / "approved" / digest
        path.parent.mkdir(exist_ok=True)
        write_durably(path, b"")

    def approved(self) -> frozenset[str]:
        """Returns the digests of all approved plans."""
        folder = self.folder / "approved"
        return frozenset(path.name for path in folder.iterdir()) if folder.exists() else frozenset()

    def _plan(self, digest: str) -> Path:
        return self.folder / "plans" / f"{digest}.json"
