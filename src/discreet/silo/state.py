"""A silo's files: ledger, journal, plans and the newest allow-list. Lose them and forget what was spent."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from discreet.documents import read_json
from discreet.errors import ConfigurationError, LedgerError
from discreet.plan import Plan, load_plan
from discreet.privacy.ledger import Counted, Line, read_ledger
from discreet.privacy.typed import build
from discreet.privacy.wire import canonical
from discreet.rounds.directory import write_durably
from discreet.secagg import AllowList
from discreet.silo.anchor import Anchor, read_anchor, require_anchored
from discreet.silo.policy import (
    Account,
    Charge,
    Policy,
    PolicyRefusal,
    RefusalCode,
    SignedAllowList,
    SiloLedger,
)
from discreet.silo.policy.limits import Fixed, Limits

MOST_WAITING = 20
"""Plans that may wait for a person at a time."""


@dataclass(frozen=True, slots=True)
class SiloState:
    """The state folder of a policy; made when it is first used."""

    policy: Policy
    # What a kept plan is charged never changes, and every round asks.
    _charges: dict[str, Charge] = field(default_factory=dict, init=False, repr=False, compare=False)

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

    @property
    def features(self) -> Path:
        """What a network with public weights made of the records, as private as they are."""
        return self.folder / "features"

    @property
    def proposals(self) -> Path:
        """What was proposed, for the owner; see `read_proposals`."""
        return self.folder / "proposals.jsonl"

    @property
    def decisions(self) -> Path:
        """What a person decided, and when; see `read_decisions`."""
        return self.folder / "decisions.jsonl"

    @property
    def intake(self) -> Path:
        """What was proposed today, to be counted."""
        return self.folder / "today.json"

    def accept_allow_list(self, signed: SignedAllowList) -> AllowList:
        """Verifies an allow-list and remembers it; an older one is refused from then on.

        Raises:
            PolicyRefusal: if it is not signed by the policy's consortium, or older than one seen before.
        """
        keys = signed.verified(bytes.fromhex(self.policy.consortium.public_key))
        path = self.folder / "allow-list.json"
        if path.exists():
            known = SignedAllowList.parse(path.read_bytes())
            if signed == known:
                return keys
            if signed.serial <= known.serial:
                raise PolicyRefusal(
                    RefusalCode.IDENTITY,
                    f"the allow-list must be serial {known.serial} as seen before, or newer; got another "
                    f"with serial {signed.serial}. Send the newest list.",
                )
        write_durably(path, signed.serialise())
        return keys

    def keep_plan(self, charge: Charge) -> None:
        """Stores the plan of a training durably; its cost is worked out from it for ever.

        To be called before the first ledger line that names the plan: a ledger without the plan would be one
        that nobody can charge.
        """
        digest = charge.plan.digest()
        path = self._plan(digest)
        _make_durably(path.parent)
        write_durably(path, charge.plan.document())
        self._charges[digest] = charge

    def account(self, trainings: Mapping[str, Counted], of_year: Mapping[str, Counted]) -> Account:
        """Returns the account of ``trainings``, whose plans were kept.

        Args:
            trainings: how many releases the ledger charges, of each part of each.
            of_year: how many of these are charged to the present year.

        Raises:
            LedgerError: if a plan that the ledger names is missing: then the cost cannot be known.
        """
        charges = {digest: self._charge(digest) for digest in trainings}
        charged = {
            digest: (charge, charge.order.covering(trainings[digest])) for digest, charge in charges.items()
        }
        now = {digest: charges[digest].order.covering(count) for digest, count in of_year.items()}
        by_sort = {digest: (count, of_year.get(digest, {})) for digest, count in trainings.items()}
        return Account(charged, now, self.fixed(), self.policy.fixed, by_sort)

    def fixed(self) -> Fixed | None:
        """Returns what was written down before the first contribution; None if nothing was.

        Raises:
            LedgerError: if it cannot be read, or is not what the anchor knows.
        """
        try:
            data = self._fixed.read_bytes()
        except FileNotFoundError:
            data = b""
        except OSError as error:
            raise LedgerError(f"{self._fixed.name} must be readable; got: {error.strerror}.") from None
        anchor = read_anchor(self.policy.anchor, self.policy.silo)
        if anchor is not None and anchor.limits is not None and anchor.limits != _sha256(data):
            raise LedgerError(
                f"{self._fixed.name} must be as it was when the last contribution left; it was changed. Put "
                "the file back from before the change."
            )
        return _read_fixed(data, self._fixed.name) if data else None

    def fix(self, *, charged: bool) -> None:
        """Writes down, durably, what the budget rests on: before the first contribution, and never after.

        Args:
            charged: whether the ledger charges a contribution already.
        """
        stated = dataclasses.asdict(self.policy.fixed)
        if not stated["retries"]:
            del stated["retries"]
        made = canonical(stated) + b"\n"
        if charged or (self._fixed.exists() and self._fixed.read_bytes() == made):
            return
        # The anchor forgets the old file first: a crash between the two leaves a state that can be read.
        anchor = read_anchor(self.policy.anchor, self.policy.silo)
        if anchor is not None and anchor.limits is not None:
            dataclasses.replace(anchor, limits=None).save(self.policy.anchor)
        write_durably(self._fixed, made)

    @property
    def _fixed(self) -> Path:
        return self.policy.state / "limits.json"

    def check_anchor(self) -> Anchor:
        """Returns the ledger's anchor; a new one before the first contribution. Changes nothing.

        Raises:
            LedgerError: if the ledger is damaged, or is not the newest as far as the anchor tells.
        """
        return require_anchored(self.policy.anchor, self.policy.silo, self._ledger_lines)

    def anchor(self, ledger: SiloLedger) -> Anchor:
        """Writes down durably, outside the state folder, how far ``ledger`` has come and what that cost.

        Raises:
            ConfigurationError: if the anchor cannot be written.
        """
        epsilon, delta = self.account(ledger.charged(), {}).total(self.policy.budget.lifetime)
        writer = ledger.writer
        limits = _sha256(self._fixed.read_bytes()) if self._fixed.exists() else None
        made = Anchor(self.policy.silo, len(writer.entries), writer.head, epsilon, delta, limits)
        made.save(self.policy.anchor)
        return made

    def anchor_anew(self) -> Anchor:
        """Anchors the ledger as it lies there, on the word of a person that it is the newest.

        Raises:
            LedgerError: if an anchor says otherwise, or a process serves this silo.
        """
        with closing(SiloLedger.open(self.ledger)) as ledger:
            known = read_anchor(self.policy.anchor, self.policy.silo)
            if known is not None:
                known.require_part_of(self._ledger_lines())
            return self.anchor(ledger)

    def keep_pending(self, plan: Plan) -> Path:
        """Stores a plan that waits for a person, and returns where.

        Raises:
            PolicyRefusal: code ``proposals``, if `MOST_WAITING` others wait already.
        """
        path = self.folder / "pending" / f"{plan.digest()}.json"
        path.parent.mkdir(exist_ok=True)
        waiting = {waits.stem for waits in path.parent.glob("*.json")} - self.approved()
        if path.stem not in waiting:
            if len(waiting) >= MOST_WAITING:
                raise PolicyRefusal(
                    RefusalCode.PROPOSALS,
                    f"at most {MOST_WAITING} plans may wait for a person at {self.policy.silo}, and as many "
                    "do; the data owner must approve or delete some first.",
                )
            write_durably(path, plan.document())
        return path

    def approve(self, digest: str) -> None:
        """Records a person's approval, in place of a refusal."""
        self._decide(digest, "approved", "refused")

    def refuse(self, digest: str) -> None:
        """Records that a person refuses a plan, in place of an approval; what it waited with is removed."""
        self._decide(digest, "refused", "approved")
        (self.folder / "pending" / f"{digest}.json").unlink(missing_ok=True)

    def approved(self) -> frozenset[str]:
        """Returns the digests of all approved plans."""
        return self._decided("approved")

    def refused(self) -> frozenset[str]:
        """Returns the digests of all plans that a person refused."""
        return self._decided("refused")

    def _decide(self, digest: str, verdict: str, other: str) -> None:
        path = self.folder / verdict / digest
        path.parent.mkdir(exist_ok=True)
        write_durably(path, b"")
        (self.folder / other / digest).unlink(missing_ok=True)

    def _decided(self, verdict: str) -> frozenset[str]:
        folder = self.policy.state / verdict
        return frozenset(path.name for path in folder.iterdir()) if folder.exists() else frozenset()

    def _charge(self, digest: str) -> Charge:
        if digest not in self._charges:
            try:
                plan = load_plan(self._plan(digest))
            except ConfigurationError as error:
                raise LedgerError(f"the plan of every training must be kept; {error}") from None
            if plan.digest() != digest:
                raise LedgerError(
                    f"the plan of a training must be kept under its own digest, {plan.digest()[:16]}; "
                    f"the file of {digest[:16]} holds it. Put back the file from before the change."
                )
            self._charges[digest] = Charge.under(plan, self.policy)
        return self._charges[digest]

    def _ledger_lines(self) -> tuple[Line, ...]:
        path = self.policy.state / "ledger.jsonl"  # not `ledger`, which makes the folder
        return read_ledger(path) if path.exists() else ()

    def _plan(self, digest: str) -> Path:
        return self.folder / "plans" / f"{digest}.json"


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read_fixed(data: bytes, name: str) -> Fixed:
    try:
        fields = dict(read_json(data))
        lifetime, year = build(Limits, fields.pop("lifetime")), fields.pop("year")
        known = {"lifetime": lifetime, "year": None if year is None else build(Limits, year)}
        return build(Fixed, {**fields, **known})
    except (ValueError, KeyError, TypeError, ConfigurationError):
        raise LedgerError(
            f"{name} must hold what this silo's budget rests on; it cannot be read. Put the file back from "
            "before the change."
        ) from None


def _make_durably(folder: Path) -> None:
    """Makes a folder whose name survives a crash of the machine."""
    if folder.exists():
        return
    folder.mkdir()
    above = os.open(folder.parent, os.O_RDONLY)
    try:
        os.fsync(above)
    finally:
        os.close(above)
