"""A silo without a network: requests in, replies out; the policy decides, the ledger remembers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import final

import torch

from discreet.data import Records
from discreet.data.function_source import OwnCodeFailed
from discreet.documents import shown
from discreet.errors import DataError, DiscreetError, ProtocolAbort, UnusableRecords, in_words
from discreet.plan import Plan, wire_terms
from discreet.randomness import RandomSource, SecureRandom, SeededRandom
from discreet.rounds import require_rows_alike_for
from discreet.secagg import Bell, Bonawitz, ClientSession, FileJournal, Identity
from discreet.silo.early import EarlyWork
from discreet.silo.events import (
    RequestAnswered,
    RequestArrived,
    SiloEvent,
    TrainingEnded,
    TrainingJoined,
)
from discreet.silo.intake import Intake
from discreet.silo.policy import (
    Charge,
    Policy,
    PolicyRefusal,
    RefusalCode,
    SignedAllowList,
    SiloLedger,
    afforded,
    load_key,
    load_policy,
    priced,
    read_plan,
)
from discreet.silo.policy.refusal import refused_in_person
from discreet.silo.policy.review import Approval
from discreet.silo.proposals import JOINED, Proposal, ProposalLog
from discreet.silo.records import load_records, nothing
from discreet.silo.requests import (
    Begin,
    Deliver,
    Farewell,
    Hello,
    Joined,
    Present,
    Propose,
    Refused,
    Replied,
    Reply,
    Request,
)
from discreet.silo.state import SiloState
from discreet.silo.training import Book, OpenSession, SiloTraining

_LONGEST_LINE = 2000
_SESSION_BYTES = 32

LONGEST_DOCUMENT = 1 << 22
"""Bytes of the longest plan or allow-list that is read: several times what a thousand silos take."""
# Far more than any plan, list of silos or round of messages of a thousand silos takes.
_LONGEST_WITHOUT_MODEL = 1 << 26

# Verdicts that come only after a plan was found to follow from its config; its cost is then our own number.
_PRICED = frozenset({JOINED, str(RefusalCode.BUDGET), str(RefusalCode.APPROVAL)})


def _now() -> datetime:
    return datetime.now(UTC)


def _ignore(_: object) -> None:
    """Tells nobody."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a silo takes from its machine.

    Attributes:
        now: returns the time with its zone.
        log: takes a line that the owner should look at; it must not leave the machine.
        tell: takes what happens, for the owner's log and metrics.
    """

    now: Callable[[], datetime] = _now
    log: Callable[[str], None] = _ignore
    tell: Callable[[SiloEvent], None] = _ignore

    def today(self) -> date:
        """Returns the date in UTC, by which policies expire."""
        return self.now().astimezone(UTC).date()


@dataclass(frozen=True, slots=True)
class Admitted:
    """A proposal that the day's limits let in; ``charge`` is known once its plan was priced."""

    plan: str
    allow_list: int
    charge: Charge | None = None


@final
class Silo:
    """One data owner's side of every training.

    Guarantee:
        A masked contribution leaves only under a plan that the policy allows and this code has worked out
        again, only after its cost is durably in the silo's ledger, and never under a round or key that was
        used before, whatever the server says. Every other answer holds keys, shares or refusals.

    Args:
        policy: the owner's rules.
        identity: this silo's signing key.
        surroundings: clock and log.

    Raises:
        LedgerError: if the ledger is damaged, in use, or older than its anchor says.
        ConfigurationError: if the anchor cannot be written.
    """

    def __init__(self, policy: Policy, identity: Identity, surroundings: Surroundings | None = None) -> None:
        self._policy = policy
        self._identity = identity
        given = surroundings or Surroundings()
        # A plan's words may hold line ends and escapes that would forge a line of the owner's log.
        self._surroundings = replace(given, log=lambda line: given.log(shown(line, _LONGEST_LINE)))
        self._state = SiloState(policy)
        self._ledger = SiloLedger.open(self._state.ledger)
        try:
            self._state.check_anchor().save(policy.anchor)
            self._journal = FileJournal(self._state.journal)
            self._proposals = ProposalLog(self._state.proposals)
        except DiscreetError:
            self._ledger.close()
            raise
        self._training: SiloTraining | None = None
        # Outlives a new key setup: a slow silo need not train again because another came back.
        self._early = EarlyWork()
        self._admitted: Admitted | None = None

    @property
    def name(self) -> str:
        """The silo's name in plans."""
        return self._policy.silo

    @property
    def longest_request(self) -> int:
        """Bytes of the longest request that makes sense now; only a training in progress takes a model."""
        model = 0 if self._training is None else self._training.model_bytes
        return _LONGEST_WITHOUT_MODEL + model

    def handle(self, request: Request) -> Reply:
        """Answers one request; every failure becomes a refusal that is safe to show to the server."""
        tell = self._surroundings.tell
        tell(RequestArrived(type(request)))
        verdict: RefusalCode | None = RefusalCode.INTERNAL
        try:
            reply = self._reply(request)
            verdict = RefusalCode(reply.code) if isinstance(reply, Refused) else None
            return reply
        finally:
            admitted, self._admitted = self._admitted, None
            if admitted is not None:
                self._note_proposal(admitted, JOINED if verdict is None else str(verdict))
            tell(RequestAnswered(type(request), verdict))

    def close(self) -> None:
        """Forgets the session's secrets and releases the ledger."""
        self._end_training()
        self._early.close()
        self._ledger.close()

    def _reply(self, request: Request) -> Reply:
        log = self._surroundings.log
        try:
            return self._answer(request)
        except PolicyRefusal as refusal:
            code, reason = refusal.code, str(refusal)
            for note in getattr(refusal, "__notes__", ()):  # for the owner alone
                log(note)
        except DataError as error:
            log(f"refused: {error}")
            code, reason = (
                RefusalCode.DATA,
                "its source of records must fit the plan; it does not. Its own log says why.",
            )
        except ProtocolAbort as abort:
            code, reason = RefusalCode.PROTOCOL, f"{abort.code}: {abort}"
        except DiscreetError as error:
            log(f"failed: {error}")
            code, reason = RefusalCode.INTERNAL, "it could not answer; its own log says why."
        reason = shown(reason, _LONGEST_LINE)
        log(f"refused ({code}): {reason}")
        return Refused(self.name, str(code), reason)

    def _answer(self, request: Request) -> Reply:
        match request:
            case Hello():
                return Present(self.name)
            case Propose():
                return self._join(request)
            case Begin():
                self._in_progress().begin(request)
                return Replied(b"")
            case Deliver():
                return Replied(self._in_progress().deliver(request))
            case Farewell():
                self._end_training()
                self._early.forget()
                return Replied(b"")

    def _in_progress(self) -> SiloTraining:
        if self._training is None:
            raise PolicyRefusal(
                RefusalCode.PROTOCOL, "a training must be proposed before its messages; none is."
            )
        return self._training

    def _join(self, proposal: Propose) -> Joined:
        """Reviews a proposal and, if it is allowed, ends the training in progress and offers keys."""
        _require_form(proposal)
        signed = SignedAllowList.parse(proposal.allow_list)
        identities = self._state.accept_allow_list(signed)
        if identities.keys.get(self.name) != self._identity.public_key:
            raise PolicyRefusal(
                RefusalCode.IDENTITY,
                f"the allow-list must hold the key of {self.name}; it holds another or none. "
                "Enrol this silo's public key and sign the list again.",
            )
        plan = read_plan(proposal.plan)
        admitted = Admitted(plan.digest(), signed.serial)
        self._admit(admitted.plan)
        self._admitted = admitted
        approval = self._review(plan, admitted)
        self._early.wait()  # what follows uses torch, as the thread of early work does
        require_rows_alike_for(approval.plan, approval.model, [self.name])
        records = {name: self._records(part) for name, part in approval.plan.sides.items()}
        protocol = _masking_protocol(approval.plan)
        agreement = protocol.agreement(wire_terms(approval.plan, proposal.session), identities)
        session = ClientSession(
            agreement,
            self.name,
            proposal.epoch,
            identity=self._identity,
            randomness=SecureRandom(),
            journal=self._journal,
            threads=torch.get_num_threads(),
        )
        advertisement = session.start()
        # Only now: a proposal that comes to nothing, such as a late copy, must not end what is under way.
        self._end_training()
        self._training = SiloTraining(
            approval,
            records,
            OpenSession(agreement, session),
            book=Book(self._state, self._ledger, self._surroundings.today),
            early=self._early,
            randomness=self._randomness(),
            log=self._surroundings.log,
            tell=self._surroundings.tell,
        )
        self._surroundings.tell(TrainingJoined(admitted.plan, approval.cost))
        return Joined(self.name, self._policy.simulation is not None, advertisement)

    def _admit(self, digest: str) -> None:
        """Counts a proposal against today's limits, before any work is done for it."""
        known = self._ledger.trainings().keys() | self._state.approved()
        path, limit = self._state.intake, self._policy.proposals.per_day
        today = Intake.load(path, self._surroundings.today())
        today.admit(digest, known=known, new_plans=limit).save(path)

    def _note_proposal(self, admitted: Admitted, verdict: str) -> None:
        """Writes down for the owner what was proposed and what became of it."""
        time = self._surroundings.now().astimezone(UTC).isoformat(timespec="seconds")
        noted = Proposal(self._proposals.next, time, admitted.plan, admitted.allow_list, verdict)
        if verdict in _PRICED and admitted.charge is not None:
            cost = admitted.charge.whole
            if math.isfinite(cost.epsilon):
                noted = replace(noted, epsilon=cost.epsilon, delta=cost.delta)
        self._proposals.append(noted)

    def _review(self, plan: Plan, admitted: Admitted) -> Approval:
        """Applies the policy; a plan that waits for a person is kept where that person finds it."""
        if admitted.plan in self._state.refused():
            raise refused_in_person(admitted.plan, self.name)
        today = self._surroundings.today()
        account = self._state.account(self._ledger.charged(), self._ledger.charged(today.year))
        charge = priced(plan, self._policy, today)
        self._admitted = replace(admitted, charge=charge)
        try:
            return afforded(charge, self._policy, account, self._state.approved())
        except PolicyRefusal as refusal:
            if refusal.code is not RefusalCode.APPROVAL:
                raise
            path = self._state.keep_pending(plan)
            self._surroundings.log(f"a plan waits for approval: {path}")
            raise PolicyRefusal(refusal.code, f"{refusal} It waits there.") from None

    def _records(self, plan: Plan) -> Records:
        """Loads this silo's records; it takes part without any if reading them fails in a way they may cause.

        Raises:
            DiscreetError: if the source does not fit the plan, which no record decides.
        """
        log = self._surroundings.log
        try:
            data = self._policy.data
            return load_records(
                data.source, plan, self.name, note=log, written=data.written, cache=self._state.features
            )
        except (OwnCodeFailed, UnusableRecords) as error:
            reason = str(error)
        except DiscreetError:
            raise
        except BaseException as error:  # panics of compiled code too, and what else would end the process
            reason = in_words(error)
        log(f"ATTENTION: the records could not be read, so this silo takes part without any; {reason}")
        return nothing(plan)

    def _randomness(self) -> RandomSource:
        simulation = self._policy.simulation
        return SecureRandom() if simulation is None else SeededRandom(simulation.seed)

    def _end_training(self) -> None:
        if self._training is not None:
            self._training.close()
            self._surroundings.tell(TrainingEnded(self._training.plan_digest))
            self._training = None


def open_silo(policy_path: Path, surroundings: Surroundings | None = None) -> Silo:
    """Opens the silo of a ``policy.toml``.

    Raises:
        ConfigurationError: if the policy or the key cannot be used.
        LedgerError: if the ledger is damaged or another process serves this silo.
    """
    policy = load_policy(policy_path)
    return Silo(policy, load_key(policy.identity), surroundings)


def _require_form(proposal: Propose) -> None:
    """Refuses what no server of ours sends, before any of it is read.

    Raises:
        PolicyRefusal: naming what is too long, or not as long as it must be.
    """
    if len(proposal.session) != _SESSION_BYTES:
        raise PolicyRefusal(
            RefusalCode.PROTOCOL, f"a session must have {_SESSION_BYTES} bytes; got {len(proposal.session)}."
        )
    longest = max(len(proposal.plan), len(proposal.allow_list))
    if longest > LONGEST_DOCUMENT:
        raise PolicyRefusal(
            RefusalCode.PROTOCOL,
            f"plan and allow-list must have at most {LONGEST_DOCUMENT} bytes each; got {longest}.",
        )


def _masking_protocol(plan: Plan) -> Bonawitz | Bell:
    """Returns the plan's protocol, which must mask: the oracle protects nothing between machines."""
    protocol = plan.protocol
    if not isinstance(protocol, Bonawitz | Bell):
        raise PolicyRefusal(
            RefusalCode.NOT_ALLOWED,
            f"aggregation.protocol must hide contributions from the server; {protocol.name!r} does not.",
        )
    return protocol
