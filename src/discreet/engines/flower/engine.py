"""The server's engine: it drives secure aggregation over a wire, and invites whoever is there and willing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Self, final

import numpy as np
import numpy.typing as npt
import torch

from discreet.documents import shown
from discreet.engines.flower.greetings import Greetings
from discreet.engines.flower.members import Members
from discreet.engines.flower.wire import NodeId, Wire, await_nodes, exchange
from discreet.errors import ConfigurationError, NotEnoughSurvivors, PeerProtocolError, PrivacyRefusal
from discreet.plan import Plan, part_of_sum, wire_terms
from discreet.randomness import RandomSource
from discreet.rounds import RoundOrder, RoundSum
from discreet.secagg import (
    Accepted,
    Agreement,
    AllowList,
    Bell,
    Bonawitz,
    ClientId,
    RoundTerms,
    ServerSession,
)
from discreet.secagg.packing import packed_size
from discreet.secagg.transitions import ServerState
from discreet.silo.policy import RefusalCode, SignedAllowList
from discreet.silo.requests import (
    Begin,
    Deliver,
    Farewell,
    Joined,
    Present,
    Propose,
    Refused,
    Replied,
    Reply,
    Request,
    decode,
    encode,
)

_SESSION_BYTES = 32
# As at a silo: far more than any keys, shares or signatures of a thousand silos take.
_LONGEST_WITHOUT_VECTOR = 1 << 26


@dataclass(frozen=True, slots=True)
class Proposal:
    """The server's proposal to every silo, sent unchanged.

    Attributes:
        plan: the agreed plan.
        document: its serialised form.
        allow_list: the consortium's signed list of silos.
    """

    plan: Plan
    document: bytes
    allow_list: SignedAllowList


@dataclass(frozen=True, slots=True)
class _Starts:
    """What an invitation says that silos start from; nothing in every other message."""

    parameters: Mapping[ClientId, bytes] = field(default_factory=dict)
    models: tuple[bytes, ...] = ()

    @classmethod
    def of(cls, order: RoundOrder, plan: Plan) -> Self:
        """Returns what the invitation to a round says."""
        if order.starts is None or plan.timetable is None:
            return cls(dict.fromkeys(plan.facts.silos, order.announced()))
        turns = plan.timetable.sums[order.release - 1].turns
        by_version = {turn.base: order.starts[turn.silo] for turn in turns}
        models = {base: _as_bytes(start.parameters) for base, start in by_version.items()}
        digests = tuple(start.digest() for _, start in sorted(by_version.items()))
        return cls({turn.silo: models[turn.base] for turn in turns}, digests)


@final
class FlowerEngine:
    """Runs rounds over silos behind a wire; an `Engine`.

    A silo that does not answer a stage in time is gone for the round and is not invited again before it has
    answered a greeting; then everybody makes new keys. Greetings cost no time: they are sent at the end of a
    round, and answers are looked for whenever another one begins.

    Args:
        proposal: plan and allow-list.
        wire: the network.
        randomness: for the session's name.
        patience_seconds: how long a stage waits for its slowest silo.
        announce: is told in one line whenever a silo comes, goes or refuses.
        protocol: left out, the plan's own.

    Raises:
        ConfigurationError: if the plan's protocol hides nothing, or a silo is not on the list.
    """

    def __init__(
        self,
        proposal: Proposal,
        wire: Wire,
        randomness: RandomSource,
        *,
        patience_seconds: float,
        announce: Callable[[str], None],
        protocol: Bonawitz | Bell | None = None,
    ) -> None:
        self._proposal = proposal
        self._wire = wire
        self._patience = patience_seconds
        self._announce = announce
        self._session = randomness.random_bytes(_SESSION_BYTES)
        self._agreement = _agreement(proposal, self._session, protocol)
        terms = self._agreement.terms
        self._longest_reply = _LONGEST_WITHOUT_VECTOR + packed_size(terms.length, terms.bits)
        self._epoch = 0
        self._server: ServerSession | None = None
        self._members = Members()
        self._pending: Mapping[ClientId, bytes] = {}
        self._greetings = Greetings(wire, patience_seconds)
        self._traffic: dict[ClientId, int] = {}
        self._secret_noise = False
        self._awaited: tuple[ClientId, ...] = ()

    def require_secret_noise(self) -> None:
        """Leaves silos out from now on whose noise a seed could remove: the run's ledger calls it secret."""
        self._secret_noise = True

    @property
    def seeded(self) -> bool:
        """Says whether a silo rehearses with noise that anyone with its seed can remove."""
        return self._members.seeded

    @property
    def missing(self) -> tuple[ClientId, ...]:
        """The silos of the plan that take no part at the moment."""
        present = set(self._members.names)
        return tuple(name for name in self._proposal.plan.facts.silos if name not in present)

    def open(self) -> None:
        """Proposes the plan to every node and makes the first keys; nothing private has moved yet.

        Raises:
            PrivacyRefusal: if silos refuse and too few are left; it quotes their reasons.
            NotEnoughSurvivors: if too few silos are there.
        """
        try:
            self._set_up(self._wire.nodes())
        except NotEnoughSurvivors as abort:
            if self._members.refusals:
                reasons = "; ".join(self._members.refusals.values())
                raise PrivacyRefusal(f"enough silos must accept the plan; refused by {reasons}") from None
            raise NotEnoughSurvivors(
                abort.code,
                f"{abort} {len(self._wire.nodes())} of {len(self._proposal.plan.facts.silos)} silos are "
                "connected; start the others.",
            ) from None

    def sum_round(self, order: RoundOrder) -> RoundSum:
        """Makes one release over the members, a round or of another part; see `Engine.sum_round`."""
        self._traffic = {}
        asked = order.asked(self._proposal.plan.facts.silos)
        server = self._ready_server(asked)
        self._begin_early(order)
        terms = RoundTerms(round_index=order.release, attempt=order.sequence, context=order.context())
        label = str(order.release)
        outgoing = server.begin_round(terms, self._present(asked))
        starts = _Starts.of(order, self._proposal.plan)
        while outgoing:
            self._deliver(server, outgoing, starts, label)
            starts = _Starts()
            outgoing = server.close_stage()
        self._greet_missing()
        result, plan = server.result(), self._proposal.plan
        return RoundSum(
            total=part_of_sum(plan.every_part[plan.order.part_of(order.release)], result.total),
            survivors=tuple(map(self._agreement.name, result.survivors)),
            transcript=result.transcript,
            bytes_per_silo=max(self._traffic.values()),
            training_loss=None,
        )

    def close(self) -> None:
        """Tells the members that the training is over; waits for nobody."""
        farewell = encode(Farewell())
        nodes = dict.fromkeys(self._members.nodes, farewell)
        self._wire.post(nodes, label="end", lifetime_seconds=self._patience)

    def _present(self, asked: Collection[ClientId]) -> tuple[ClientId, ...]:
        return tuple(name for name in self._members.names if name in asked)

    def _begin_early(self, order: RoundOrder) -> None:
        """Lets silos train whose next sum, by the timetable, starts from the present model but is later."""
        timetable = self._proposal.plan.timetable
        if timetable is None:
            return
        parameters = _as_bytes(order.parameters)
        requests = dict[NodeId, bytes]()
        for release, planned in enumerate(timetable.sums[order.release :], order.release + 1):
            # Two lines of the ledger for each release in between: sums of a timetable are tried once.
            begin = Begin(release, order.sequence + 2 * (release - order.release), parameters)
            present = self._present([turn.silo for turn in planned.turns if turn.base == order.release - 1])
            requests |= {self._members.node(name): encode(begin) for name in present}
        self._wire.post(requests, label="early", lifetime_seconds=self._patience)

    def _ready_server(self, asked: tuple[ClientId, ...]) -> ServerSession:
        """Returns a server whose keys can carry a round of ``asked``, after a new setup if need be."""
        returned = self._returned()
        server = self._server
        enough = len(self._present(asked)) >= self._agreement.floor
        if server is not None and server.slots_left and enough and not returned:
            return server
        if enough:
            return self._set_up((*self._members.nodes, *returned))
        if self.missing != self._awaited:
            self._awaited = self.missing
            self._announce(f"waiting for {', '.join(self.missing)}")
        everybody = len(self._proposal.plan.facts.silos)
        # Who is missing is not known by node: where only some silos can help, all are waited for.
        wanted = self._agreement.floor if len(asked) == everybody else everybody
        return self._set_up(await_nodes(self._wire, wanted, patience_seconds=self._patience))

    def _set_up(self, nodes: tuple[NodeId, ...]) -> ServerSession:
        """Opens a new epoch with the silos at ``nodes``."""
        self._server = None
        self._epoch += 1
        server = ServerSession(self._agreement, self._epoch, threads=torch.get_num_threads())
        proposal = Propose(
            epoch=self._epoch,
            session=self._session,
            plan=self._proposal.document,
            allow_list=self._proposal.allow_list.serialise(),
        )
        self._members = self._members.forget()
        for node, reply in self._exchange(dict.fromkeys(nodes, proposal), "join").items():
            self._welcome(server, node, reply)
        outgoing = server.close_stage()
        while server.state is not ServerState.READY:
            self._deliver(server, outgoing, _Starts(), "keys")
            outgoing = server.close_stage()
        # The sealed shares travel with the next invitation: one exchange less.
        self._pending = outgoing
        self._members.keep(server.sharers)
        self._server = server
        self._awaited = ()
        return server

    def _welcome(self, server: ServerSession, node: NodeId, reply: Reply) -> None:
        match reply:
            case Joined(seeded=True) if self._secret_noise:
                reason = "it rehearses with noise that a seed removes, but the noise of this run is secret"
                self._refused(node, f"node {node}", RefusalCode.NOT_ALLOWED, reason)
            case Joined(silo=name, seeded=seeded, advertisement=data):
                verdict = server.receive(name, data)
                if isinstance(verdict, Accepted):
                    self._count(name, data)
                    self._members.add(name, node, seeded=seeded)
                    self._announce(f"{name} joined")
                else:
                    self._announce(f"{shown(name)} could not join ({verdict.code}): {shown(verdict.reason)}")
                    self._members.refuse(node, name, str(verdict.code), verdict.reason)
            case Refused(silo=name, code=code, reason=reason):
                entitled = self._members.may_speak(node, name, self._wire.nodes())
                self._refused(node, name if entitled else self._members.title(node), code, reason)
            case _:
                self._announce(f"node {node} answered a proposal with something else; ignored")

    def _deliver(
        self, server: ServerSession, outgoing: Mapping[ClientId, bytes], starts: _Starts, label: str
    ) -> None:
        """Brings the server's messages to the silos, and takes in what they answer in time."""
        requests = {
            self._members.node(name): Deliver(
                (self._pending[name], data) if name in self._pending else (data,),
                starts.parameters.get(name, b""),
                starts.models,
            )
            for name, data in outgoing.items()
        }
        names = {self._members.node(name): name for name in outgoing}
        self._pending = {name: data for name, data in self._pending.items() if name not in outgoing}
        for node, reply in self._exchange(requests, label).items():
            self._take(server, names[node], reply)
        for name in set(server.awaited) & set(self._members.names):
            self._members.remove(name)
            self._announce(f"{name} did not answer in time and is out until it returns")

    def _take(self, server: ServerSession, name: ClientId, reply: Reply) -> None:
        match reply:
            case Replied(message=data):
                self._count(name, data)
                verdict = server.receive(name, data)
                if not isinstance(verdict, Accepted):
                    self._announce(f"{name}: message rejected ({verdict.code}): {verdict.reason}")
            case Refused(code=code, reason=reason):
                self._refused(self._members.node(name), name, code, reason)
            case _:
                self._announce(f"{name} answered with something else; ignored")

    def _refused(self, node: NodeId, name: ClientId, code: str, reason: str) -> None:
        self._members.refuse(node, name, code, reason)
        self._announce(f"{shown(name)} refused ({shown(code)}): {shown(reason)}")

    def _exchange(self, requests: Mapping[NodeId, Request], label: str) -> dict[NodeId, Reply]:
        """Sends requests and returns the replies that can be read."""
        encoded: dict[int, bytes] = {id(request): encode(request) for request in requests.values()}
        bodies = {node: encoded[id(request)] for node, request in requests.items()}
        answers = exchange(self._wire, bodies, label=label, patience_seconds=self._patience)
        replies: dict[NodeId, Reply] = {}
        for node, answer in answers.items():
            reply = self._readable(node, answer)
            if reply is not None:
                replies[node] = reply
        return replies

    def _readable(self, node: NodeId, answer: bytes) -> Reply | None:
        """Returns a reply, or None for bytes that are none: they harm nobody but their sender."""
        if not len(answer) <= self._longest_reply:
            self._announce(
                f"node {node}: a reply must have at most {self._longest_reply} bytes; got {len(answer)}"
            )
            return None
        try:
            reply = decode(answer)
        except PeerProtocolError as error:
            self._announce(f"node {node}: {error}")
            return None
        return reply if isinstance(reply, Present | Joined | Replied | Refused) else None

    def _greet_missing(self) -> None:
        """Greets the nodes that take no part; who answers is proposed to in a later round."""
        asked = {*self._members.nodes, *self._members.refusals}
        if self.missing:
            self._greetings.send(set(self._wire.nodes()) - asked)

    def _returned(self) -> tuple[NodeId, ...]:
        """Returns the nodes that answered a greeting, have not refused and may be a silo that is missing."""
        nodes = []
        missing = self.missing
        for node, answer in self._greetings.answers().items():
            reply = self._readable(node, answer)
            if not isinstance(reply, Present) or reply.silo not in missing:
                continue
            may_speak = self._members.may_speak(node, reply.silo, self._wire.nodes())
            if may_speak and node not in self._members.refusals:
                self._announce(f"{reply.silo} is back; everybody makes new keys")
                nodes.append(node)
        return tuple(nodes)

    def _count(self, name: ClientId, data: bytes) -> None:
        self._traffic[name] = self._traffic.get(name, 0) + len(data)


def _as_bytes(parameters: npt.NDArray[np.float64]) -> bytes:
    return parameters.astype("<f8", copy=False).tobytes()


def _agreement(proposal: Proposal, session: bytes, protocol: Bonawitz | Bell | None) -> Agreement:
    """Returns the values that server and silos must share."""
    chosen = protocol or proposal.plan.protocol
    if not isinstance(chosen, Bonawitz | Bell):
        raise ConfigurationError(
            "'aggregation.protocol' must hide contributions from the server between machines; "
            f'{chosen.name!r} does not. Use "bonawitz".'
        )
    keys = {name: bytes.fromhex(key) for name, key in proposal.allow_list.silos.items()}
    return chosen.agreement(wire_terms(proposal.plan, session), AllowList(keys))
