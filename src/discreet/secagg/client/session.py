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
from discreet.secagg.codes import AbortCode
from discreet.secagg.graph import Neighborhood
from discreet.secagg.hazmat import keys as keyring
from discreet.secagg.hazmat.secret import Secret
from discreet.secagg.identity import Identity
from discreet.secagg.journal import Deed, Journal, round_counter
from discreet.secagg.messages import (
    Advertise,
    ChosenBy,
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
    decode,
    encode,
)
from discreet.secagg.packing import pack
from discreet.secagg.ring import InputVector, to_ring
from discreet.secagg.terms import ClientId, positions
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

    _own_offer: Advertise
    _offers: dict[int, Advertise]
    _keys_digest: bytes
    _place: setup.Place
    _sharers: tuple[int, ...]
    _choice: tuple[int, ...]
    _current: rounds.OpenRound
    _survivors: tuple[int, ...]

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
        self._agreement = agreement
        self._me = positions(agreement.terms.clients)[client]
        self._epoch = epoch
        self._identity = identity
        self._randomness = randomness
        self._journal = journal
        self._threads = threads
        self._table = client_table(agreement.mode)
        self._state = ClientState.NEW
        self._channel = keyring.generate(randomness)
        self._slots = setup.draw_slots(agreement, randomness)
        self._channels: dict[int, Secret] = {}
        self._own_shares = Secret(b"")
        self._held: list[dict[int, Secret]] = []
        self._slots_used = 0
        self._handlers: dict[type[Message], Callable[[Any], Message | None]] = {
            KeyList: self._on_key_list,
            ChosenBy: self._on_chosen_by,
            DeliveredShares: self._on_shares,
            RoundStart: self._on_round_start,
            SurvivorSet: self._on_survivors,
            ConfirmSet: self._on_confirmations,
        }

    @property
    def state(self) -> ClientState:
        """Where the session is."""
        return self._state

    def start(self) -> bytes:
        """Offers our keys.

        Raises:
            PeerProtocolError: code ``replayed``, if this session already had this epoch or a later one.
        """
        with self._ending_on_error():
            self._move(Call.START)
            self._journal.claim(self._agreement.terms.session, Deed.OFFER_KEYS, self._epoch)
            self._own_offer = setup.offer_keys(
                self._agreement, self._identity, self._channel, self._slots, epoch=self._epoch, me=self._me
            )
            return self._encode(self._own_offer)

    def receive(self, data: bytes) -> bytes | None:
        """Handles one message of the server.

        Returns:
            The reply to send, if there is one.

        Raises:
            ProtocolAbort: if the message is not what the protocol allows here. The session is over.
        """
        with self._ending_on_error():
            message = decode(data, self._agreement.digest, self._epoch)
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
            secrets = self._slots[self._current.start.slot]
            rounds.mask(self._agreement, self._place, self._current, secrets, vector, threads=self._threads)
            secrets.wipe()
            return self._encode(MaskedInput(self._current.digest, pack(vector, terms.bits)))

    def close(self) -> None:
        """Ends the session and wipes its secrets."""
        self._state = ClientState.ABORTED
        held = (share for slot in self._held for share in slot.values())
        for secret in (self._channel, *self._channels.values(), self._own_shares, *held):
            secret.wipe()
        for slot in self._slots:
            slot.wipe()

    def _on_key_list(self, keys: KeyList) -> NeighborChoice | SealedShares:
        setup.check_key_list(self._agreement, self._epoch, self._own_offer, keys)
        self._offers = {offer.sender: offer for offer in keys.entries}
        self._keys_digest = binding.keys_digest(self._agreement, self._epoch, keys)
        if self._agreement.mode.chooses_neighbors:
            members = sorted(self._offers.keys() - {self._me})
            self._choice = neighborhood.draw(self._agreement.graph, members, self._randomness)
            return NeighborChoice(self._choice)
        graph = self._agreement.graph
        return self._deal(neighborhood.derive(graph, self._me, self._offers, self._keys_digest))

    def _on_chosen_by(self, chosen: ChosenBy) -> SealedShares:
        return self._deal(
            neighborhood.accept(
                self._agreement.graph, self._me, self._choice, chosen, frozenset(self._offers)
            )
        )

    def _deal(self, graph_place: Neighborhood) -> SealedShares:
        setup.require_holders(self._agreement, graph_place.holders)
        self._place = setup.Place(self._me, self._epoch, self._offers, self._keys_digest, graph_place)
        self._channels = setup.open_channels(self._place, self._channel)
        self._channel.wipe()
        dealt, self._own_shares = setup.deal(
            self._agreement, self._place, self._channels, self._slots, self._randomness
        )
        return dealt

    def _on_shares(self, delivered: DeliveredShares) -> None:
        opened = setup.open_delivered(self._agreement, self._place, self._channels, delivered)
        if self._me in self._place.graph.holders:
            opened[self._me] = self._own_shares
        size = self._agreement.slot_bytes
        self._held = [
            {sender: Secret(shares.reveal()[start : start + size]) for sender, shares in opened.items()}
            for start in range(0, self._agreement.rounds_per_setup * size, size)
        ]
        for shares in (*opened.values(), *self._channels.values()):
            shares.wipe()
        self._sharers = delivered.sharers

    def _on_round_start(self, start: RoundStart) -> None:
        if not start.slot >= self._slots_used:
            raise PeerProtocolError(
                AbortCode.REPLAYED, f"slots are used once; got {start.slot} after {self._slots_used - 1}."
            )
        rounds.check_start(self._agreement, self._me, self._sharers, start)
        self._forget_slots(start.slot)
        self._slots_used = start.slot + 1
        digest = binding.round_digest(self._keys_digest, self._sharers, start)
        self._current = rounds.OpenRound(start, digest)

    def _on_survivors(self, shown: SurvivorSet) -> Confirm | UnmaskShares:
        self._require_current(shown.round_digest)
        rounds.check_survivors(self._agreement, self._me, self._current, shown.survivors)
        self._survivors = shown.survivors
        if not self._agreement.mode.confirms:
            return self._release()
        content = binding.confirmed_content(self._current.digest, shown.survivors)
        return Confirm(self._current.digest, self._identity.sign(content))

    def _on_confirmations(self, confirmations: ConfirmSet) -> UnmaskShares:
        self._require_current(confirmations.round_digest)
        rounds.check_confirmations(self._agreement, self._current, self._survivors, confirmations)
        return self._release()

    def _release(self) -> UnmaskShares:
        self._claim_round(Deed.RELEASE_SHARES)
        slot = self._current.start.slot
        released = rounds.release(self._agreement, self._current, self._survivors, self._held[slot])
        self._forget_slots(slot + 1)
        return released

    def _forget_slots(self, end: int) -> None:
        """Wipes everything that belongs to the slots before ``end``: their rounds are over for us."""
        for secrets, shares in zip(self._slots[:end], self._held[:end], strict=True):
            secrets.wipe()
            for share in shares.values():
                share.wipe()

    def _require_current(self, round_digest: bytes) -> None:
        if round_digest != self._current.digest:
            raise PeerProtocolError(
                AbortCode.WRONG_ROUND,
                "messages must be made for the open round, roster and model; one is not.",
            )

    def _claim_round(self, deed: Deed) -> None:
        """Persists that we are about to do this in the open round; refused if we ever did."""
        terms = self._current.start.terms
        counter = round_counter(terms.round_index, terms.attempt)
        self._journal.claim(self._agreement.terms.session, deed, counter)

    def _move(self, event: type[Message] | Call) -> None:
        self._state = next_client_state(self._table, self._state, event)

    def _encode(self, message: Message) -> bytes:
        return encode(message, self._agreement.digest, self._epoch)

    @contextmanager
    def _ending_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"ClientSession(client={self._agreement.name(self._me)!r}, state={self._state.value!r})"
