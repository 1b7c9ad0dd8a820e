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
from discreet.engines.silo.requests import Deliver
from discreet.engines.silo.state import SiloState
from discreet.policy import PolicyRefusal, RefusalCode, SiloLedger
from discreet.policy.review import Approval
from discreet.randomness import RandomSource
from discreet.rounds import contribute, round_rotation, silo_source
from discreet.secagg import Agreement, ClientSession
from discreet.secagg.codec import decode
from discreet.secagg.messages import RoundStart
from discreet.secagg.transitions import ClientState

# From these states a session goes back to READY only by releasing shares.
_RELEASING = (ClientState.MASKED, ClientState.CONFIRMED)


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
        self._start: RoundStart | None = None
        self._release, self._model_digest = 0, ""

    def deliver(self, delivery: Deliver) -> bytes:
        """Handles messages in order and returns the reply to the last one, empty if there is none.

        Raises:
            PolicyRefusal: if the policy does not allow one more release.
            ProtocolAbort: if a message is not what the protocol allows here.
        """
        reply: bytes | None = None
        invitation: RoundStart | None = None
        for data in delivery.messages:
            message = decode(data, self._agreement.digest, self._epoch)
            if isinstance(message, RoundStart):
                self._check_invitation(message, delivery.parameters)
                self._start = invitation = message
            before = self._session.state
            reply = self._session.receive(data)
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
        if hashlib.sha256(parameters).digest() != terms.context or len(parameters) != (
            plan.grid.dimension * np.dtype(np.float64).itemsize
        ):
            raise PolicyRefusal(
                RefusalCode.PROTOCOL, "the model must be the one that the invitation names; it is another."
            )
        if self._book.today() > self._policy.expires:
            raise PolicyRefusal(RefusalCode.EXPIRED, f"{self._policy.silo}'s policy expired in the meantime.")
        self._ledger.settle(self._plan_digest, believe_abort=self._retries_for_an_honest_server(start))
        account = self._book.state.account(self._ledger.trainings())
        charged = account.charged[self._plan_digest][1]
        account.require(self._policy.budget, self._approval.charge, charged + 1)

    def _retries_for_an_honest_server(self, start: RoundStart) -> bool:
        """Says whether the last attempt came to nothing, by the word of a server that is trusted with it."""
        trusts_server = self._approval.plan.config.aggregation.mode != "malicious"
        last = self._start
        return trusts_server and last is not None and last.terms.round_index == start.terms.round_index

    def _contribute(self, start: RoundStart, parameters: bytes) -> bytes:
        """Trains, adds noise, writes the release down, and masks; in this order."""
        plan, silo = self._approval.plan, self._policy.silo
        vector: npt.NDArray[np.float64] = np.frombuffer(parameters, dtype="<f8").astype(np.float64)
        contribution = contribute(
            plan,
            silo,
            model=self._approval.model,
            parameters=vector,
            records=self._records,
            randomness=silo_source(self._randomness, start.terms.attempt, silo),
            rotation=round_rotation(plan, start.terms.attempt),
        )
        self._model_digest = start.terms.context.hex()
        self._release = self._ledger.contribute(self._plan_digest, self._model_digest)
        return self._session.submit(contribution.values)

    def _note_release(self) -> None:
        """Writes down who survived once this silo's own shares are about to leave."""
        session = self._session
        self._ledger.complete(self._release, session.survivors, session.transcript.hex(), self._model_digest)
