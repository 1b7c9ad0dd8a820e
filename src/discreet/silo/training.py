"""One silo in one training: it checks every invitation against budget and model before it contributes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import final

import numpy as np
import numpy.typing as npt

from discreet.data import Records
from discreet.errors import DiscreetError, PrivacyViolation, in_words
from discreet.kinds.timetable import Turn
from discreet.plan import Plan, filled
from discreet.plan.order import PREPARATION
from discreet.plan.start import LARGEST_WEIGHT
from discreet.randomness import RandomSource
from discreet.rounds import contribute, part_source, round_rotation, round_training, silo_source
from discreet.rounds.engine import context_of
from discreet.rounds.preparing import RecordsInUse, told_in
from discreet.secagg import Agreement, ClientSession
from discreet.secagg.messages import RoundStart
from discreet.secagg.transitions import ClientState
from discreet.silo.early import EarlyWork, Purpose
from discreet.silo.events import RoundAnswered, RoundUnmasked, SiloEvent
from discreet.silo.policy import Account, PolicyRefusal, RefusalCode, SiloLedger
from discreet.silo.policy.review import Approval
from discreet.silo.records import nothing
from discreet.silo.requests import Begin, Deliver
from discreet.silo.state import SiloState

# From these states a session goes back to READY only by releasing shares.
_RELEASING = (ClientState.MASKED, ClientState.CONFIRMED)


@dataclass(frozen=True, slots=True)
class OpenSession:
    """One epoch of secure aggregation at this silo."""

    agreement: Agreement
    client: ClientSession


@dataclass(frozen=True, slots=True)
class Book:
    """What a silo keeps across trainings, and the clock that its policy is read by."""

    state: SiloState
    ledger: SiloLedger
    today: Callable[[], date]


@final
class SiloTraining:
    """Carries messages to the session, and adds what secure aggregation does not know: budget and ledger.

    ``records`` are those of each side of the plan, of which no unit has records in two.
    """

    def __init__(
        self,
        approval: Approval,
        records: Mapping[str | None, Records],
        session: OpenSession,
        *,
        book: Book,
        early: EarlyWork,
        randomness: RandomSource,
        log: Callable[[str], None],
        tell: Callable[[SiloEvent], None],
    ) -> None:
        self._approval = approval
        self._plan_digest = approval.plan.digest()
        self._records = {
            side: RecordsInUse(approval.plan, {book.state.policy.silo: own}) for side, own in records.items()
        }
        self._agreement = session.agreement
        self._session = session.client
        self._book = book
        self._early = early
        self._policy = book.state.policy
        self._ledger = book.ledger
        self._randomness = randomness
        self._log = log
        self._tell = tell
        self._charged = Account({})
        self._start: RoundStart | None = None
        self._release = 0
        # Says whether the ledger has turned to this training, which it does for its first contribution.
        self._entered = False

    @property
    def model_bytes(self) -> int:
        """Length of the public model that an invitation brings, and of what prepares records."""
        plan = self._approval.plan
        return (plan.grid.dimension + plan.map_length(plan.releases)) * np.dtype(np.float64).itemsize

    @property
    def plan_digest(self) -> str:
        """The plan that is carried out."""
        return self._plan_digest

    def deliver(self, delivery: Deliver) -> bytes:
        """Handles messages in order and returns the reply to the last one, empty if there is none.

        Raises:
            PolicyRefusal: if the policy does not allow one more release.
            ProtocolAbort: if a message is not what the protocol allows here.
        """
        reply: bytes | None = None
        invitation: RoundStart | None = None
        for data in delivery.messages:
            start = self._session.invitation_in(data)
            if start is not None:
                self._check_invitation(start, delivery)
            before = self._session.state
            reply = self._session.receive(data)
            if start is not None:
                # Only now can the attempt before not be unmasked any more.
                if self._entered:
                    self._ledger.settle(self._plan_digest, believe_abort=self._believes_abort(start))
                self._start = invitation = start
            if before in _RELEASING and self._session.state is ClientState.READY:
                self._note_release()
        # Only an invitation of this very delivery was checked against its model and the budget.
        if self._session.state is ClientState.INVITED and invitation is not None:
            reply = self._contribute(invitation, delivery.parameters)
        return reply or b""

    def begin(self, asked: Begin) -> None:
        """Trains for a later sum in the background; what comes of it leaves only with an invitation.

        Raises:
            PolicyRefusal: if the plan's timetable has no such sum, or the model does not suit the plan. Never
                because of what is under way: when a training ends depends on the silo's coins, and a server
                that learned these could ask until it likes them.
        """
        turn = self._turn(asked.release)
        if turn is None or turn.base >= asked.release - 1:
            raise PolicyRefusal(
                RefusalCode.PROTOCOL,
                "a silo must begin early only for a sum whose model is older by the plan's timetable; "
                f"{asked.release} is none.",
            )
        self._check_model(asked.release, asked.parameters)
        purpose = self._purpose(asked.release, asked.attempt, asked.parameters)
        self._early.begin(purpose, lambda: self._values(purpose, asked.parameters))

    def close(self) -> None:
        """Forgets the session's secrets."""
        self._session.close()

    def _turn(self, release: int) -> Turn | None:
        """Returns this silo's part in a sum, if it has one by a timetable.

        Raises:
            PolicyRefusal: if there is no such sum, or it does not ask this silo.
        """
        plan, silo = self._approval.plan, self._policy.silo
        if not 1 <= release <= plan.releases:
            raise PolicyRefusal(
                RefusalCode.BUDGET, f"rounds must be 1 to {plan.releases}, as planned; got round {release}."
            )
        if plan.timetable is None:
            return None
        turn = plan.timetable.sums[release - 1].turn_of(silo)
        if turn is None:
            raise PolicyRefusal(
                RefusalCode.BUDGET,
                f"{silo} must be asked only for sums that the plan's timetable has it in; {release} is none.",
            )
        return turn

    def _check_invitation(self, start: RoundStart, delivery: Deliver) -> None:
        """Refuses a round beyond the plan or the budget, or one whose model is not the announced one."""
        self._turn(start.terms.round_index)
        if self._context(start.terms.round_index, delivery) != start.terms.context:
            raise PolicyRefusal(
                RefusalCode.PROTOCOL, "the model must be the one that the invitation names; it is another."
            )
        self._check_model(start.terms.round_index, delivery.parameters)
        if self._book.today() > self._policy.expires:
            raise PolicyRefusal(RefusalCode.EXPIRED, f"{self._policy.silo}'s policy expired in the meantime.")
        forgiven, year = self._entered and self._believes_abort(start), self._book.today().year
        account = self._book.state.account(self._ledger.charged(), self._ledger.charged(year))
        charge, sort = self._approval.charge, self._approval.plan.order.sort_of(start.terms.round_index)
        releases, of_year = (
            charge.order.covering(
                self._ledger.charged_next(self._plan_digest, sort, year=one, forgiven=forgiven)
            )
            for one in (None, year)
        )
        account.require(self._policy.budget, charge, releases, of_year)
        self._charged = account.including(charge, releases, of_year)

    def _context(self, release: int, delivery: Deliver) -> bytes | None:
        """Returns what the masks of an invitation must be bound to; None where its digests do not fit.

        With a timetable that is what every silo starts from, so that two that start from one version of the
        model start from the same model, or their masks do not cancel.
        """
        own, timetable = hashlib.sha256(delivery.parameters).digest(), self._approval.plan.timetable
        if timetable is None:
            return None if delivery.models else own
        turns = timetable.sums[release - 1].turns
        versions = sorted({turn.base for turn in turns})
        if len(delivery.models) != len(versions):
            return None
        models = dict(zip(versions, delivery.models, strict=True))
        if any(models[turn.base] != own for turn in turns if turn.silo == self._policy.silo):
            return None
        return context_of({turn.silo: (models[turn.base], turn.weight) for turn in turns})

    def _purpose(self, release: int, attempt: int, parameters: bytes) -> Purpose:
        digest = hashlib.sha256(parameters).digest()
        return Purpose(self._agreement.digest, release, attempt, digest)

    def _believes_abort(self, start: RoundStart) -> bool:
        """Says whether the last attempt came to nothing, by the word of a server that is trusted with it."""
        trusts_server = self._approval.plan.aggregation.mode != "malicious"
        last = self._start
        return trusts_server and last is not None and last.terms.round_index == start.terms.round_index

    def _check_model(self, release: int, parameters: bytes) -> None:
        """Refuses a model at which training could leave the numbers of a machine, before data is touched."""
        plan = self._approval.plan
        try:
            vector, told = told_in(plan, release, parameters)
        except PrivacyViolation as error:
            raise PolicyRefusal(RefusalCode.PROTOCOL, str(error)) from None
        if not bool((np.abs(vector) <= LARGEST_WEIGHT).all()):
            raise PolicyRefusal(
                RefusalCode.PROTOCOL,
                f"every weight of the model must be finite and at most {LARGEST_WEIGHT:g} in absolute value; "
                "one is not.",
            )
        try:
            carried_out = plan.carried_out(release, vector)
            round_training(carried_out, self._policy.silo, release, vector, told)
        except DiscreetError as error:
            raise PolicyRefusal(RefusalCode.PROTOCOL, f"the model must suit the plan; {error}") from None

    def _contribute(self, start: RoundStart, parameters: bytes) -> bytes:
        """Trains, adds noise, writes the release down in ledger and anchor, and masks; in this order."""
        purpose = self._purpose(start.terms.round_index, start.terms.attempt, parameters)
        try:
            values = self._early.take(purpose, lambda: self._values(purpose, parameters))
        except BaseException as error:
            # Panics of compiled code too, and what else would end the process: signals raise nothing in a
            # serving silo, so it comes from code that runs on records. A silo that fell silent would tell
            # what they hold. Noise alone tells nothing.
            self._log(f"ATTENTION: training failed, so this silo contributes noise only; {in_words(error)}")
            values = self._values(purpose, parameters, without_records=True)
        self._enter()
        self._release = self._ledger.contribute(
            self._plan_digest,
            start.terms.context.hex(),
            self._book.today(),
            part=self._approval.plan.order.sort_of(start.terms.round_index),
        )
        # After the ledger: a crash in between leaves a ledger that is ahead, which charges more, never less.
        self._book.state.anchor(self._ledger)
        self._tell(self._answered(start))
        return self._session.submit(values)

    def _answered(self, start: RoundStart) -> RoundAnswered:
        """Says what is charged with the contribution that is about to leave."""
        lifetime, year = self._policy.budget.lifetime, self._policy.budget.year
        epsilon, delta = self._charged.total(lifetime)
        return RoundAnswered(
            self._plan_digest,
            start.terms.round_index,
            self._approval.plan.releases,
            _text_of(self._approval.plan, start.terms.round_index),
            start.terms.attempt,
            epsilon=epsilon,
            delta=delta,
            share=self._charged.share(lifetime),
            year_share=None if year is None else self._charged.this_year.share(year),
        )

    def _enter(self) -> None:
        """Turns the ledger to this training; until its first contribution it has cost nothing."""
        if not self._entered:
            spent = self._ledger.trainings().values()
            self._book.state.fix(charged=any(one.charged for one in spent))
            self._book.state.keep_plan(self._approval.charge)
            self._ledger.join(self._plan_digest, seeded=self._policy.simulation is not None)
            self._entered = True

    def _values(
        self, purpose: Purpose, parameters: bytes, *, without_records: bool = False
    ) -> npt.NDArray[np.int64]:
        """Returns what this silo adds to the sum: integers with its noise, in the shape of every sum."""
        whole, silo, release = self._approval.plan, self._policy.silo, purpose.release
        turn, attempt = self._turn(release), purpose.attempt
        vector, announced = told_in(whole, release, parameters)
        plan = whole.carried_out(release, vector)
        source = part_source(whole, release, self._randomness)
        values = contribute(
            plan,
            silo,
            purpose.release,
            model=self._approval.model,
            parameters=vector,
            records=self._asked(release, announced, without_records=without_records),
            randomness=silo_source(source, attempt, silo),
            rotation=round_rotation(plan, attempt),
            weight=1.0 if turn is None else turn.weight,
            told=announced,
        ).values
        return filled(values, self._agreement.terms.length)

    def _asked(
        self, release: int, announced: npt.NDArray[np.float64] | None, *, without_records: bool
    ) -> Records:
        """Returns this silo's records, or none, as a release uses them: under the map that was announced."""
        plan, silo = self._approval.plan, self._policy.silo
        part = plan.order.part_of(release)
        own = self._records[None if part == PREPARATION else part]
        if without_records:
            own = RecordsInUse(plan, {silo: nothing(plan)})
        return (own.as_asked() if part == PREPARATION else own.under(announced))[silo]

    def _note_release(self) -> None:
        """Writes down who survived once this silo's own shares are about to leave."""
        session = self._session
        self._ledger.complete(self._release, session.survivors, session.transcript.hex())
        if self._start is not None:
            round_index = self._start.terms.round_index
            text = _text_of(self._approval.plan, round_index)
            self._tell(RoundUnmasked(self._plan_digest, round_index, text, len(session.survivors)))


def _text_of(plan: Plan, release: int) -> str:
    """Says which release this is, and of a preparation whom it asks."""
    asks = " (asks the training records)" if plan.order.prepares(release) else ""
    return f"{plan.order.text(release)}{asks}"
