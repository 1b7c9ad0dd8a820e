"""One silo in one training: it checks every invitation against budget and model before it contributes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import final

import numpy as np
import numpy.typing as npt

from discreet.data import Records
from discreet.errors import DiscreetError
from discreet.privacy.ledger import spending
from discreet.randomness import RandomSource
from discreet.rounds import contribute, round_rotation, round_training, silo_source
from discreet.secagg import Agreement, ClientSession
from discreet.secagg.codec import invitation_in
from discreet.secagg.messages import RoundStart
from discreet.secagg.transitions import ClientState
from discreet.silo.events import RoundAnswered, RoundUnmasked, SiloEvent
from discreet.silo.policy import Account, PolicyRefusal, RefusalCode, SiloLedger
from discreet.silo.policy.review import Approval
from discreet.silo.records import nothing
from discreet.silo.requests import Deliver
from discreet.silo.state import SiloState

# From these states a session goes back to READY only by releasing shares.
_RELEASING = (ClientState.MASKED, ClientState.CONFIRMED)

LARGEST_WEIGHT = 2.0**40
"""Largest weight of a model that a silo trains from: far above what training reaches, and low enough that a
product of three weights stays a float32, whose range ends at 2^128."""


NOTHING_SPENT = spending(())
"""What a training that never contributed has spent."""


@dataclass(frozen=True, slots=True)
class OpenSession:
    """One epoch of secure aggregation at this silo."""

    agreement: Agreement
    epoch: int
    client: ClientSession


@dataclass(frozen=True, slots=True)
class Book:
    """What a silo keeps across trainings, and the clock that its policy is read by."""

    state: SiloState
    ledger: SiloLedger
    today: Callable[[], date]


@final
class SiloTraining:
    """Carries messages to the session, and adds what secure aggregation does not know: budget and ledger."""

    def __init__(
        self,
        approval: Approval,
        records: Records,
        session: OpenSession,
        *,
        book: Book,
        randomness: RandomSource,
        log: Callable[[str], None],
        tell: Callable[[SiloEvent], None],
    ) -> None:
        self._approval = approval
        self._plan_digest = approval.plan.digest()
        self._records = records
        self._agreement = session.agreement
        self._epoch = session.epoch
        self._session = session.client
        self._book = book
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
        """Length of the public model that an invitation brings."""
        return self._approval.plan.grid.dimension * np.dtype(np.float64).itemsize

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
            start = invitation_in(data, self._agreement.digest, self._epoch)
            if start is not None:
                self._check_invitation(start, delivery.parameters)
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

    def close(self) -> None:
        """Forgets the session's secrets."""
        self._session.close()

    def _check_invitation(self, start: RoundStart, parameters: bytes) -> None:
        """Refuses a round beyond the plan or the budget, or one whose model is not the announced one."""
        plan, terms = self._approval.plan, start.terms
        if not 1 <= terms.round_index <= plan.rounds:
            raise PolicyRefusal(
                RefusalCode.BUDGET,
                f"rounds must be 1 to {plan.rounds}, as planned; got round {terms.round_index}.",
            )
        if hashlib.sha256(parameters).digest() != terms.context or len(parameters) != self.model_bytes:
            raise PolicyRefusal(
                RefusalCode.PROTOCOL, "the model must be the one that the invitation names; it is another."
            )
        self._check_model(parameters)
        if self._book.today() > self._policy.expires:
            raise PolicyRefusal(RefusalCode.EXPIRED, f"{self._policy.silo}'s policy expired in the meantime.")
        trainings = self._ledger.trainings()
        own = trainings.get(self._plan_digest, NOTHING_SPENT)
        forgiven = self._entered and own.pending is not None and self._believes_abort(start)
        today = self._book.today()
        account = self._book.state.account(trainings, self._ledger.of_year(today.year))
        budget, charge, releases = self._policy.budget, self._approval.charge, own.charged - forgiven + 1
        account.require(budget, charge, releases)
        self._charged = account.including(charge, releases)

    def _believes_abort(self, start: RoundStart) -> bool:
        """Says whether the last attempt came to nothing, by the word of a server that is trusted with it."""
        trusts_server = self._approval.plan.aggregation.mode != "malicious"
        last = self._start
        return trusts_server and last is not None and last.terms.round_index == start.terms.round_index

    def _check_model(self, parameters: bytes) -> None:
        """Refuses a model at which training could leave the numbers of a machine, before data is touched."""
        plan, vector = self._approval.plan, _numbers(parameters)
        if not bool((np.abs(vector) <= LARGEST_WEIGHT).all()):
            raise PolicyRefusal(
                RefusalCode.PROTOCOL,
                f"every weight of the model must be finite and at most {LARGEST_WEIGHT:g} in absolute value; "
                "one is not.",
            )
        try:
            round_training(plan, self._policy.silo, vector)
        except DiscreetError as error:
            raise PolicyRefusal(RefusalCode.PROTOCOL, f"the model must suit the plan; {error}") from None

    def _contribute(self, start: RoundStart, parameters: bytes) -> bytes:
        """Trains, adds noise, writes the release down in ledger and anchor, and masks; in this order."""
        attempt = start.terms.attempt
        try:
            values = self._values(self._records, attempt, parameters)
        except Exception as error:
            # A silo that fell silent would tell what its records hold. Noise alone tells nothing.
            self._log(
                f"ATTENTION: training failed, so this silo contributes noise only; "
                f"{type(error).__name__}: {error}"
            )
            values = self._values(nothing(self._approval.plan), attempt, parameters)
        self._enter()
        self._release = self._ledger.contribute(
            self._plan_digest, start.terms.context.hex(), self._book.today()
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
            self._approval.plan.rounds,
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

    def _values(self, records: Records, attempt: int, parameters: bytes) -> npt.NDArray[np.int64]:
        """Returns what this silo adds to the sum when it trains on ``records``: integers with its noise."""
        plan, silo = self._approval.plan, self._policy.silo
        return contribute(
            plan,
            silo,
            model=self._approval.model,
            parameters=_numbers(parameters),
            records=records,
            randomness=silo_source(self._randomness, attempt, silo),
            rotation=round_rotation(plan, attempt),
        ).values

    def _note_release(self) -> None:
        """Writes down who survived once this silo's own shares are about to leave."""
        session = self._session
        self._ledger.complete(self._release, session.survivors, session.transcript.hex())
        if self._start is not None:
            round_index = self._start.terms.round_index
            self._tell(RoundUnmasked(self._plan_digest, round_index, len(session.survivors)))


def _numbers(parameters: bytes) -> npt.NDArray[np.float64]:
    return np.frombuffer(parameters, dtype="<f8").astype(np.float64)
