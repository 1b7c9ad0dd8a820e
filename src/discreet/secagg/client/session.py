"""The client's state machine: bytes in, bytes out, one epoch long. A driver owns sockets and deadlines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, final

from discreet.errors import LocalProtocolError, PeerProtocolError
from discreet.randomness import RandomSource
from discreet.secagg import binding
from discreet.secagg.agreement import Agreement
from discreet.secagg.client import neighborhood, rounds, setup
from discreet.secagg.client.memory import ClientMemory, split_slots
from discreet.secagg.codec import decode, encode
from discreet.secagg.codes import AbortCode
from discreet.secagg.graph import Neighborhood
from discreet.secagg.hazmat import keys as keyring
from discreet.secagg.identity import Identity
from discreet.secagg.journal import Deed, Journal, round_counter
from discreet.secagg.messages import (
    Choices,
    Confirm,
    ConfirmSet,
    DeliveredShares,
    KeyList,
    MaskedInput,
    Message,
    NeighborChoice,
    RoundStart,
    SealedShares,
    SurvivorSet,
    UnmaskShares,
)
from discreet.secagg.packing import pack
from discreet.secagg.ring import InputVector, to_ring
from discreet.secagg.terms import ClientId, check_epoch, positions
from discreet.secagg.transitions import Call, ClientState, client_table, next_client_state


@final
class ClientSession:
    """One client in one epoch: a setup and the rounds that live off it.

    Guarantee:
        Never sends two masked inputs under one slot, round or attempt; never releases both kinds of share of
        one peer; never releases anything for fewer than ``min_survivors`` inputs. Any protocol error ends the
        session and wipes its secrets.

    Args:
        agreement: what all parties hold in common.
        client: which of its clients this is.
        epoch: the number of this setup; must grow within a session.
        identity: this client's signing key.
        randomness: source of all its secrets.
        journal: what it did before; outlives the session.
        threads: how many ranges of a vector are masked at once.
    """

    def __init__(
        self,
        agreement: Agreement,
        client: ClientId,
        epoch: int,
        *,
        identity: Identity,
        randomness: RandomSource,
        journal: Journal,
        threads: int = 1,
    ) -> None:
        if agreement.identities.keys.get(client) != identity.public_key:
            raise LocalProtocolError(
                AbortCode.UNKNOWN_CLIENT, f"{client!r} must be enrolled with this identity."
            )
        check_epoch(epoch)
        self._agreement = agreement
        self._me = positions(agreement.terms.clients)[client]
        self._identity = identity
        self._randomness = randomness
        self._journal = journal
        self._threads = threads
        self._table = client_table(agreement.mode)
        channel = keyring.generate(randomness)
        self._memory = ClientMemory(epoch, channel, setup.draw_slots(agreement, randomness))
        self._handlers: dict[type[Message], Callable[[Any], Message | None]] = {
            KeyList: self._on_key_list,
            Choices: self._on_choices,
            DeliveredShares: self._on_shares,
            RoundStart: self._on_round_start,
            SurvivorSet: self._on_survivors,
            ConfirmSet: self._on_confirmations,
        }

    @property
    def state(self) -> ClientState:
        """Where the session is."""
        return self._memory.state

    @property
    def survivors(self) -> tuple[ClientId, ...]:
        """The survivor set of the last round that we signed or released shares for."""
        return tuple(map(self._agreement.name, self._memory.survivors))

    @property
    def transcript(self) -> bytes:
        """The hash that names the last round with these survivors; equal for all who saw the same."""
        return binding.transcript_hash(self._current().digest, self._memory.survivors)

    def start(self) -> bytes:
        """Offers our keys.

        Raises:
            PeerProtocolError: code ``replayed``, if this session already had this epoch or a later one.
        """
        memory = self._memory
        with self._ending_on_error():
            self._move(Call.START)
            self._claim(Deed.OFFER_KEYS, memory.epoch)
            memory.own_offer = setup.offer_keys(
                self._agreement, self._identity, memory.channel, memory.slots, epoch=memory.epoch, me=self._me
            )
            return self._encode(memory.own_offer)

    def receive(self, data: bytes) -> bytes | None:
        """Handles one message of the server.

        Returns:
            The reply to send, if there is one.

        Raises:
            ProtocolAbort: if the message is not what the protocol allows here. The session is over.
        """
        with self._ending_on_error():
            message = decode(data, self._agreement.digest, self._memory.epoch)
            self._move(type(message))
            reply = self._handlers[type(message)](message)
            return None if reply is None else self._encode(reply)

    def submit(self, values: InputVector) -> bytes:
        """Masks our input for the round that we were invited to.

        Raises:
            LocalProtocolError: code ``bad-vector`` for a vector outside the ring, and the session goes on;
                any other code ends it.
        """
        terms = self._agreement.terms
        vector = to_ring(values, terms.bits, terms.length)
        with self._ending_on_error():
            self._move(Call.SUBMIT)
            self._claim_round(Deed.SEND_MASKED)
            current, secrets = self._current(), self._memory.slots[self._memory.start.slot]
            rounds.mask(self._agreement, self._place(), current, secrets, vector, threads=self._threads)
            secrets.wipe()
            consent = self._sign_input(current)
            return self._encode(MaskedInput(current.digest, consent, pack(vector, terms.bits)))

    def close(self) -> None:
        """Ends the session and wipes its secrets."""
        self._memory.state = ClientState.ABORTED
        self._memory.wipe()

    def _on_key_list(self, keys: KeyList) -> NeighborChoice | SealedShares:
        memory, rule = self._memory, self._agreement.graph
        setup.check_key_list(self._agreement, memory.epoch, memory.own_offer, keys)
        memory.keys = keys
        place = self._place()
        if self._agreement.mode.chooses_neighbors:
            others = sorted(place.offers.keys() - {self._me})
            memory.choice = neighborhood.draw(rule, others, self._randomness)
            return NeighborChoice(memory.choice)
        return self._deal(neighborhood.derive(rule, self._me, place.offers, place.setup_digest))

    def _on_choices(self, choices: Choices) -> SealedShares:
        memory, offered = self._memory, frozenset(self._place().offers)
        graph = neighborhood.accept(self._agreement.graph, self._me, memory.choice, choices, offered)
        self._agreement.require_floor(len(choices.draws), "drawn neighbours")
        memory.choices = choices
        return self._deal(graph)

    def _deal(self, graph: Neighborhood) -> SealedShares:
        memory = self._memory
        setup.require_holders(self._agreement, graph.holders)
        self._claim(Deed.SHARE_SECRETS, memory.epoch)
        memory.graph = graph
        place = self._place()
        memory.channels = setup.open_channels(place, memory.channel)
        memory.channel.wipe()
        dealt, memory.own_shares = setup.deal(
            self._agreement, place, memory.channels, memory.slots, self._randomness
        )
        return dealt

    def _on_shares(self, delivered: DeliveredShares) -> None:
        memory = self._memory
        opened = setup.open_delivered(self._agreement, self._place(), memory.channels, delivered)
        if self._me in memory.graph.holders:
            opened[self._me] = memory.own_shares
        memory.held = split_slots(opened, self._agreement.slot_bytes, self._agreement.rounds_per_setup)
        for shares in (*opened.values(), *memory.channels.values()):
            shares.wipe()
        memory.sharers = delivered.sharers

    def _on_round_start(self, start: RoundStart) -> None:
        memory = self._memory
        if not start.slot >= memory.slots_used:
            raise PeerProtocolError(
                AbortCode.REPLAYED, f"slots are used once; got {start.slot} after {memory.slots_used - 1}."
            )
        rounds.check_start(self._agreement, self._me, memory.sharers, start)
        memory.forget_slots(start.slot)
        memory.slots_used = start.slot + 1
        memory.start = start

    def _sign_input(self, current: rounds.OpenRound) -> bytes:
        """Signs what the mode asks for; a consent is a confirmation of everybody invited."""
        mode, roster = self._agreement.mode, current.start.roster
        if mode.consents:
            self._memory.survivors = roster
        content = binding.input_content(mode, current.digest, roster)
        return self._identity.sign(content) if content else b""

    def _on_survivors(self, shown: SurvivorSet) -> Confirm | UnmaskShares:
        current = self._require_current(shown.round_digest)
        rounds.check_survivors(self._agreement, self._me, current, shown)
        self._memory.survivors = shown.survivors
        if not self._agreement.mode.confirms:
            return self._release(current)
        self._claim_round(Deed.CONFIRM_SURVIVORS)
        content = binding.confirmed_content(current.digest, shown.survivors)
        return Confirm(current.digest, self._identity.sign(content))

    def _on_confirmations(self, confirmations: ConfirmSet) -> UnmaskShares:
        current = self._require_current(confirmations.round_digest)
        rounds.check_confirmations(self._agreement, current, self._memory.survivors, confirmations)
        return self._release(current)

    def _release(self, current: rounds.OpenRound) -> UnmaskShares:
        self._claim_round(Deed.RELEASE_SHARES)
        memory, slot = self._memory, current.start.slot
        released = rounds.release(self._agreement, current, memory.survivors, memory.held[slot])
        memory.forget_slots(slot + 1)
        return released

    def _place(self) -> setup.Place:
        return self._memory.place(self._agreement, self._me)

    def _current(self) -> rounds.OpenRound:
        memory, digest = self._memory, self._place().setup_digest
        return rounds.OpenRound(memory.start, binding.round_digest(digest, memory.sharers, memory.start))

    def _require_current(self, round_digest: bytes) -> rounds.OpenRound:
        current = self._current()
        if round_digest != current.digest:
            raise PeerProtocolError(
                AbortCode.WRONG_ROUND,
                "messages must be made for the open round, roster and model; one is not.",
            )
        return current

    def _claim(self, deed: Deed, counter: int) -> None:
        """Persists that we are about to do this; refused if we ever did."""
        self._journal.claim(self._agreement.terms.session, deed, counter)

    def _claim_round(self, deed: Deed) -> None:
        """Persists that we are about to do this in the open round."""
        terms = self._memory.start.terms
        self._claim(deed, round_counter(terms.round_index, terms.attempt))

    def _move(self, event: type[Message] | Call) -> None:
        self._memory.state = next_client_state(self._table, self._memory.state, event)

    def _encode(self, message: Message) -> bytes:
        return encode(message, self._agreement.digest, self._memory.epoch)

    @contextmanager
    def _ending_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"ClientSession(client={self._agreement.name(self._me)!r}, state={self.state.value!r})"
