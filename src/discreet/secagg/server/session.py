"""The server's state machine: bytes in, verdicts and bytes out, one epoch long. It learns sums only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import final

from discreet.errors import LocalProtocolError, NotEnoughSurvivors, PeerProtocolError, ProtocolAbort
from discreet.secagg.agreement import Agreement
from discreet.secagg.codec import decode, encode, kind_of
from discreet.secagg.codes import AbortCode
from discreet.secagg.graph import HararyGraph
from discreet.secagg.messages import (
    Advertise,
    Confirm,
    ConfirmSet,
    MaskedInput,
    Message,
    NeighborChoice,
    RoundStart,
    SealedShares,
    SurvivorSet,
    UnmaskShares,
)
from discreet.secagg.modes import confirm_quorum
from discreet.secagg.server.rounds import RoundResult, ServerRound
from discreet.secagg.server.setup import ServerSetup
from discreet.secagg.terms import ClientId, RoundTerms, check_epoch, positions
from discreet.secagg.transitions import Call, ServerState, next_server_state, server_table


@dataclass(frozen=True, slots=True)
class Accepted:
    """The message counts."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """The message is void; its sender counts as gone unless a valid one follows before the stage closes."""

    code: str
    reason: str


Verdict = Accepted | Rejected
Outgoing = dict[ClientId, bytes]


@final
class ServerSession:
    """One epoch of the server: a setup and the rounds that live off it.

    The driver feeds `receive`, decides when to stop waiting and calls `close_stage`, and sends what that
    returns; after `begin_round` it goes on until nothing is left to send and `result` is there. Whoever did
    not answer in time is gone for that round, and its late message is rejected.

    Args:
        agreement: what all parties hold in common.
        epoch: the number of this setup; must grow within a session.
        threads: how many masks are made at once, and parts of an input added up.
    """

    def __init__(self, agreement: Agreement, epoch: int, *, threads: int = 1) -> None:
        check_epoch(epoch)
        self._agreement = agreement
        self._epoch = epoch
        self._threads = threads
        self._table = server_table(agreement.mode)
        self._state = ServerState.KEYS
        self._setup = ServerSetup(agreement, epoch)
        self._numbers = positions(agreement.terms.clients)
        self._awaited = frozenset(range(len(agreement.terms.clients)))
        self._answered: set[int] = set()
        self._slots_used = 0
        self._round: ServerRound | None = None
        self._result: RoundResult | None = None
        self._closers: Mapping[ServerState, Callable[[], dict[int, Message]]] = {
            ServerState.KEYS: self._close_keys,
            ServerState.CHOICES: self._close_choices,
            ServerState.SHARES: self._close_shares,
            ServerState.MASKED: self._close_masked,
            ServerState.CONFIRMS: self._close_confirms,
            ServerState.UNMASK: self._close_unmask,
        }

    @property
    def state(self) -> ServerState:
        """Where the session is."""
        return self._state

    @property
    def sharers(self) -> tuple[ClientId, ...]:
        """Everyone who finished the setup and can be invited."""
        return tuple(map(self._agreement.name, self._setup.sharers))

    @property
    def slots_left(self) -> int:
        """How many rounds this setup can still carry."""
        return self._agreement.rounds_per_setup - self._slots_used

    @property
    def awaited(self) -> tuple[ClientId, ...]:
        """Whose message the open stage still waits for."""
        return tuple(self._agreement.name(index) for index in sorted(self._awaited - self._answered))

    def receive(self, sender: ClientId, data: bytes) -> Verdict:
        """Handles one message; whatever is wrong with it harms nobody but its sender."""
        try:
            # An input that comes after its sender was declared gone ends here, unread: with the revealed
            # masks it could be opened (docs/threat-model.md, one phase).
            next_server_state(self._table, self._state, kind_of(data, self._agreement.digest, self._epoch))
            index = self._numbers.get(sender, -1)
            # One answer a stage: a second masked input would be summed as well.
            if index not in self._awaited or index in self._answered:
                raise PeerProtocolError(
                    AbortCode.UNKNOWN_CLIENT,
                    f"{sender!r} must be awaited in this stage; it is not, or not any more.",
                )
            self._take(index, decode(data, self._agreement.digest, self._epoch, clients=len(self._numbers)))
        except ProtocolAbort as abort:
            # Anybody can send anything; only its sender may lose by it.
            return Rejected(abort.code, str(abort))
        # Last: whoever was refused may still send a valid message in this stage.
        self._answered.add(index)
        return Accepted()

    def begin_round(self, round_terms: RoundTerms, invited: Iterable[ClientId]) -> Outgoing:
        """Opens a round for those of ``invited`` who finished the setup, and uses up a slot of keys.

        Raises:
            LocalProtocolError: if a stage is open, no slot is left, or a stranger is invited.
            NotEnoughSurvivors: if too few are left to invite.
        """
        after = next_server_state(self._table, self._state, Call.BEGIN)
        if not self.slots_left > 0:
            raise LocalProtocolError(AbortCode.REPLAYED, "a setup must have a slot left; open a new epoch.")
        names = frozenset(invited)
        if not names <= self._numbers.keys():
            raise LocalProtocolError(
                AbortCode.UNKNOWN_CLIENT, "only clients of the terms can be invited; one is not."
            )
        roster = tuple(index for index in self._setup.sharers if self._agreement.name(index) in names)
        self._agreement.require_floor(len(roster), "finished the setup")
        start = RoundStart(round_terms, self._slots_used, roster)
        # By the invitation and not by the sum: clients may have masked for a round that came to nothing.
        self._slots_used += 1
        self._state = after
        # An aborted round must not hand out the sum of the round before.
        self._result = None
        self._round = ServerRound.begin(self._agreement, self._setup, start)
        return self._send(dict.fromkeys(roster, start))

    def close_stage(self) -> Outgoing:
        """Stops waiting; whoever has not answered is gone.

        Returns:
            What to send to whom. Empty when the setup or the round is complete.

        Raises:
            NotEnoughSurvivors: if too few are left. A round is then over without a sum; a setup is aborted.
            PeerProtocolError: if the masks cannot be taken off.
        """
        closing = self._state
        after = next_server_state(self._table, closing, self._closing_call())
        # Before anything can fail: a failed unmasking is never tried again with other shares.
        self._state = ServerState.ABORTED if self._round is None else ServerState.READY
        outgoing = self._closers[closing]()
        self._state = after
        return self._send(outgoing)

    def result(self) -> RoundResult:
        """Returns the sum of the last round.

        Raises:
            LocalProtocolError: if no round has come to an end.
        """
        if self._result is None:
            raise LocalProtocolError(AbortCode.OUT_OF_ORDER, "a round must be complete; none is.")
        return self._result

    def _take(self, index: int, message: Message) -> None:
        """Stores one client's message; the table has admitted its type."""
        match message:
            case Advertise():
                self._setup.add_offer(index, message)
            case NeighborChoice():
                self._setup.add_choice(index, message)
            case SealedShares():
                self._setup.add_shares(index, message)
            case MaskedInput():
                self._open_round.add_masked(index, message, threads=self._threads)
            case Confirm():
                self._open_round.add_confirmation(index, message)
            case UnmaskShares():
                self._open_round.add_released(index, message)
            case _:
                raise PeerProtocolError(
                    AbortCode.OUT_OF_ORDER, "clients must not send messages of the server."
                )

    def _close_keys(self) -> dict[int, Message]:
        self._agreement.require_floor(len(self._answered), "advertised keys")
        if isinstance(rule := self._agreement.graph, HararyGraph):
            return dict(self._setup.key_paths(rule))
        return dict.fromkeys(self._answered, self._setup.key_list())

    def _close_choices(self) -> dict[int, Message]:
        self._agreement.require_floor(len(self._answered), "chosen neighbours")
        return dict.fromkeys(self._answered, self._setup.all_choices())

    def _close_shares(self) -> dict[int, Message]:
        self._agreement.require_floor(len(self._answered), "shared their secrets")
        return dict(self._setup.delivered())

    def _closing_call(self) -> Call:
        """Says how the open stage ends: masked inputs can be there from everybody."""
        masking = self._state is ServerState.MASKED
        return Call.CLOSE_WHOLE if masking and not self._open_round.dropouts else Call.CLOSE

    def _close_masked(self) -> dict[int, Message]:
        current, mode = self._open_round, self._agreement.mode
        self._agreement.require_floor(len(self._answered), "sent their masked input")
        whole = not current.dropouts
        # Everybody's signature on exactly this set is already here (ADR 42).
        if whole and mode.consents:
            consents = tuple(sorted(current.signed_inputs.items()))
            return dict.fromkeys(self._answered, ConfirmSet(current.digest, consents))
        # All pairwise masks cancel, and this mode has no others.
        if whole and not mode.double_masks:
            self._result = current.finish(self._threads)
            return {}
        # Clients ask for the signatures of exactly the survivors (ADR 43).
        attested = tuple(sorted(current.signed_inputs.items())) if mode.attests else ()
        return dict.fromkeys(self._answered, SurvivorSet(current.digest, current.survivors, attested))

    def _close_confirms(self) -> dict[int, Message]:
        terms, current = self._agreement.terms, self._open_round
        quorum = confirm_quorum(len(terms.clients), terms.max_colluding)
        # Clients would refuse, and end their sessions over it; like this the setup lives on.
        if not len(self._answered) >= quorum:
            raise NotEnoughSurvivors(
                AbortCode.NOT_CONFIRMED,
                f"the survivor set must be confirmed by {quorum} clients; got {len(self._answered)}. "
                "Nothing was unmasked.",
            )
        signatures = tuple(sorted(current.signatures.items()))
        return dict.fromkeys(self._answered, ConfirmSet(current.digest, signatures))

    def _close_unmask(self) -> dict[int, Message]:
        self._result = self._open_round.finish(self._threads)
        return {}

    @property
    def _open_round(self) -> ServerRound:
        if self._round is None:
            raise LocalProtocolError(AbortCode.OUT_OF_ORDER, "a round must be open; none is.")
        return self._round

    def _send(self, messages: Mapping[int, Message]) -> Outgoing:
        """Encodes outgoing messages, each distinct one once; their receivers are whom we now wait for."""
        # Closers write to those who answered, so whoever missed a stage cannot come back in a later one.
        self._awaited = frozenset(messages)
        self._answered = set()
        encoded = {
            id(message): encode(message, self._agreement.digest, self._epoch) for message in messages.values()
        }
        return {self._agreement.name(index): encoded[id(messages[index])] for index in sorted(messages)}
