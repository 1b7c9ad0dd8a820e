"""All parties in one process: drives the state machines over a perfect network with dropouts on request.

The engines that talk to real silos drive the same machines; this is the reference for how.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from discreet.errors import PeerProtocolError
from discreet.randomness import RandomSource
from discreet.secagg.agreement import Agreement
from discreet.secagg.client import ClientSession
from discreet.secagg.identity import Identity
from discreet.secagg.invitations import NO_DROPOUTS, RoundOrder, check_invitations
from discreet.secagg.journal import MemoryJournal
from discreet.secagg.ring import InputVector, to_ring
from discreet.secagg.server import Accepted, ServerSession
from discreet.secagg.server.rounds import RoundResult
from discreet.secagg.terms import ClientId, RoundTerms, Stage, SumOutcome
from discreet.secagg.transitions import ClientState, ServerState

_STAGE_OF = {
    ServerState.KEYS: Stage.ADVERTISE,
    ServerState.CHOICES: Stage.SHARE,
    ServerState.SHARES: Stage.SHARE,
    ServerState.READY: Stage.SHARE,
    ServerState.MASKED: Stage.MASK,
    ServerState.CONFIRMS: Stage.CONFIRM,
    ServerState.UNMASK: Stage.UNMASK,
}

# A client that disappeared before its shares were delivered needs a new setup, like one that aborted.
_HAS_SHARES = {ClientState.READY, ClientState.INVITED, ClientState.MASKED, ClientState.CONFIRMED}


class InProcessRun:
    """A server and every client of an agreement, opened by the protocols of this package.

    A setup is made when the first round needs it and again when its slots are used up, when an invited client
    is not part of it, never received its shares, or ended its session.
    """

    def __init__(
        self,
        agreement: Agreement,
        identities: Mapping[ClientId, Identity],
        randomness: RandomSource,
        threads: int,
    ) -> None:
        self._agreement = agreement
        self._identities = identities
        self._randomness = randomness
        self._threads = threads
        self._journals = {client: MemoryJournal() for client in agreement.terms.clients}
        self._order = RoundOrder()
        self._epoch = 0
        self._server: ServerSession | None = None
        self._sessions: dict[ClientId, ClientSession] = {}
        self._traffic: Counter[ClientId] = Counter()

    def sum_round(
        self,
        round_terms: RoundTerms,
        inputs: Mapping[ClientId, InputVector],
        dropouts: Mapping[ClientId, Stage] = NO_DROPOUTS,
    ) -> SumOutcome:
        """Sums the survivors; see `SumRun.sum_round`."""
        terms = self._agreement.terms
        check_invitations(terms, inputs, dropouts)
        for values in inputs.values():
            # Before the round's name is used up and before any client is asked.
            to_ring(values, terms.bits, terms.length)
        self._order.advance(round_terms)
        self._traffic.clear()
        server = self._ready_server(inputs, dropouts)
        self._deliver(server, server.begin_round(round_terms, inputs), dropouts, inputs)
        while outgoing := server.close_stage():
            self._deliver(server, outgoing, dropouts, inputs)
        return self._outcome(server.result())

    def _ready_server(
        self, inputs: Mapping[ClientId, InputVector], dropouts: Mapping[ClientId, Stage]
    ) -> ServerSession:
        """Returns a server whose setup can carry the round, after a new setup if need be."""
        server = self._server
        alive = {client for client in inputs if _sends(client, Stage.SHARE, dropouts)}
        if (
            server is not None
            and server.slots_left
            and alive <= set(server.sharers)
            and all(self._sessions[client].state in _HAS_SHARES for client in alive)
        ):
            return server
        return self._set_up(inputs, dropouts)

    def _set_up(
        self, inputs: Mapping[ClientId, InputVector], dropouts: Mapping[ClientId, Stage]
    ) -> ServerSession:
        """Opens a new epoch with everyone who is invited."""
        self._epoch += 1
        self._server = None
        for session in self._sessions.values():
            # Secrets of an epoch that nobody will use again.
            session.close()
        server = ServerSession(self._agreement, self._epoch, threads=self._threads)
        self._sessions = {client: self._client(client) for client in inputs}
        for client, session in self._sessions.items():
            if _sends(client, Stage.ADVERTISE, dropouts):
                self._upload(server, client, session.start())
        while server.state is not ServerState.READY:
            self._deliver(server, server.close_stage(), dropouts, inputs)
        self._server = server
        return server

    def _client(self, client: ClientId) -> ClientSession:
        """Makes one client's session of the current epoch."""
        return ClientSession(
            self._agreement,
            client,
            self._epoch,
            identity=self._identities[client],
            # Another stream for every epoch: with the same keys again, slots would serve twice.
            randomness=self._randomness.derive("client", client, "epoch", self._epoch),
            journal=self._journals[client],
            threads=self._threads,
        )

    def _deliver(
        self,
        server: ServerSession,
        outgoing: Mapping[ClientId, bytes],
        dropouts: Mapping[ClientId, Stage],
        inputs: Mapping[ClientId, InputVector],
    ) -> None:
        """Brings the server's messages to the clients that are still there, and their answers back."""
        for client, data in outgoing.items():
            if not _sends(client, _STAGE_OF[server.state], dropouts):
                continue
            session = self._sessions[client]
            self._traffic[client] += len(data)
            reply = session.receive(data)
            if session.state is ClientState.INVITED:
                reply = session.submit(inputs[client])
            if reply is not None:
                self._upload(server, client, reply)

    def _upload(self, server: ServerSession, client: ClientId, data: bytes) -> None:
        """Brings one client's message to the server; honest clients are never rejected."""
        self._traffic[client] += len(data)
        verdict = server.receive(client, data)
        if not isinstance(verdict, Accepted):
            raise PeerProtocolError(verdict.code, verdict.reason)

    def _outcome(self, result: RoundResult) -> SumOutcome:
        """Adds the names and the traffic to a result."""
        return SumOutcome(
            total=result.total,
            survivors=tuple(map(self._agreement.name, result.survivors)),
            transcript=result.transcript,
            bytes_per_client=max(self._traffic.values()),
        )


def _sends(client: ClientId, stage: Stage, dropouts: Mapping[ClientId, Stage]) -> bool:
    """Says whether a client still sends the message of a stage."""
    return client not in dropouts or dropouts[client].value > stage.value
