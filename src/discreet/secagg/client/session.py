"""The client's state machine: bytes in, bytes out, one epoch long. A driver owns sockets and deadlines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, final

from discreet.errors import LocalProtocolError, PeerProtocolError
from discreet.randomness import RandomSource
from discreet.secagg import binding
from discreet.secagg.agreement import Agreement
from discreet.secagg.client import keys as keychecks
from discreet.secagg.client import neighborhood, rounds, setup
from discreet.secagg.client.memory import ClientMemory, split_slots
from discreet.secagg.codec import decode, encode, kind_of
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
    KeyPaths,
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
from discreet.secagg.terms import ClientId, check_epoch
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
        threads: how many masks are made at once.
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
        self._me = agreement.terms.clients.index(client)
        self._identity = identity
        self._randomness = randomness
        self._journal = journal
        self._threads = threads
        self._table = client_table(agreement.mode, shows_paths=agreement.shows_paths)
        channel = keyring.generate(randomness)
        self._memory = ClientMemory(epoch, channel, setup.draw_slots(agreement, randomness))
        self._handlers: dict[type[Message], Callable[[Any], Message | None]] = {
            KeyList: self._on_key_list,
            KeyPaths: self._on_key_paths,
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
            # On disk before a key leaves: a client that comes back after a crash, or from a copy of its
            # machine, must not lead a second life under this epoch (attack `second_life_of_an_epoch`, ADR
            # 40).
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
            kind = kind_of(data, self._agreement.digest, self._memory.epoch)
            # The table comes first: handlers may rely on all that earlier messages have fixed, nobody gets a
            # share by sending the last message first, and 64 MiB that no state waits for are never parsed.
            self._move(kind)
            reply = self._handlers[kind](self._decode(data))
            return None if reply is None else self._encode(reply)

    def invitation_in(self, data: bytes) -> RoundStart | None:
        """Reads a message if it invites to a round and may do so now; of any other, no more than the header.

        Raises:
            PeerProtocolError: for bytes that are no message of this session. Nothing has changed.
        """
        kind = kind_of(data, self._agreement.digest, self._memory.epoch)
        if kind is not RoundStart or (self._memory.state, kind) not in self._table:
            return None
        message = self._decode(data)
        return message if isinstance(message, RoundStart) else None

    def submit(self, values: InputVector) -> bytes:
        """Masks our input for the round that we were invited to.

        Raises:
            LocalProtocolError: code ``bad-vector`` for a vector outside the ring, and the session goes on;
                any other code ends it.
        """
        terms = self._agreement.terms
        # Before the claim: an input outside the ring has used nothing up and may be corrected.
        vector = to_ring(values, terms.bits, terms.length, threads=self._threads)
        with self._ending_on_error():
            self._move(Call.SUBMIT)
            # Masks are one-time pads: two inputs under one slot differ by x - x' in the clear. The state
            # table forbids that while the process lives, the journal after a crash.
            self._claim_round(Deed.SEND_MASKED)
            current, secrets = self._current(), self._memory.slots[self._memory.start.slot]
            rounds.mask(self._agreement, self._place(), current, secrets, vector, threads=self._threads)
            # From here our holders alone can bring these secrets back. Who seizes the machine now and has
            # recorded the masked input cannot open it (ADR 40).
            secrets.wipe()
            consent = self._sign_input(current)
            return self._encode(MaskedInput(current.digest, consent, pack(vector, terms.bits)))

    def close(self) -> None:
        """Ends the session and wipes its secrets."""
        self._memory.state = ClientState.ABORTED
        self._memory.wipe()

    def _on_key_list(self, keys: KeyList) -> NeighborChoice | SealedShares:
        memory, rule = self._memory, self._agreement.graph
        keychecks.check_key_list(self._agreement, memory.epoch, memory.own_offer, keys)
        # Trusted from here on: shares are sealed for these keys and masks agreed with them.
        memory.offers = {offer.sender: offer for offer in keys.entries}
        memory.members = tuple(memory.offers)
        memory.setup_digest = binding.keys_digest(self._agreement, memory.epoch, keys)
        if self._agreement.mode.chooses_neighbors:
            others = [member for member in memory.members if member != self._me]
            # Drawn by ourselves, once the keys are fixed: a server that knew the draw before could put its
            # own clients beside us (Bell et al. 2020, section 4; ADR 41).
            memory.choice = neighborhood.draw(rule, others, self._randomness)
            return NeighborChoice(memory.choice)
        return self._deal(neighborhood.derive(rule, self._me, memory.members, memory.setup_digest))

    def _on_key_paths(self, keys: KeyPaths) -> SealedShares:
        memory, agreement = self._memory, self._agreement
        # Root and members are in the digest of the setup: who was told others opens no box of ours, and its
        # masks cancel with none of ours (ADR 45).
        digest = binding.paths_digest(agreement, memory.epoch, keys.members, keys.root)
        graph = keychecks.check_key_paths(agreement, memory.epoch, memory.own_offer, keys, digest)
        memory.offers = {one.offer.sender: one.offer for one in keys.shown}
        memory.members, memory.setup_digest = keys.members, digest
        return self._deal(graph)

    def _on_choices(self, choices: Choices) -> SealedShares:
        memory, offered = self._memory, frozenset(self._memory.offers)
        graph = neighborhood.accept(self._agreement.graph, self._me, memory.choice, choices, offered)
        # Clients that are told of each other's draws only would mask among themselves, and the server could
        # open the sum of that part (ADR 43).
        self._agreement.require_floor(len(choices.draws), "drawn neighbours")
        # Who was told other draws cannot open our boxes.
        memory.setup_digest = binding.graph_digest(memory.setup_digest, choices)
        # Who did not draw is in nobody's view of the graph, so it may not share either (ADR 43).
        memory.members = tuple(drawer for drawer, _ in choices.draws)
        return self._deal(graph)

    def _deal(self, graph: Neighborhood) -> SealedShares:
        memory = self._memory
        setup.require_holders(self._agreement, graph.holders)
        # One dealing an epoch: shares dealt for two key lists could be released as alive under the one and as
        # gone under the other.
        self._claim(Deed.SHARE_SECRETS, memory.epoch)
        # Before `_place`, which takes the graph along to channels and boxes.
        memory.graph = graph
        place = self._place()
        memory.channels = setup.open_channels(place, memory.channel)
        # Wiped before the first box exists: the server keeps all boxes, and this key would open every one to
        # or from us. What dealing still needs is in the channels (ADR 40).
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
        # Slot by slot, so that a round's shares go when it is over and those of later rounds stay.
        memory.held = split_slots(opened, self._agreement.slot_bytes, self._agreement.rounds_per_setup)
        # The channels have served. Without them, the boxes that the server has recorded stay shut for good
        # (ADR 40).
        for shares in (*opened.values(), *memory.channels.values()):
            shares.wipe()
        # Part of every round's digest: who was told of other sharers masks under other keys.
        memory.sharers = delivered.sharers

    def _on_round_start(self, start: RoundStart) -> None:
        memory = self._memory
        # An invitation uses its slot up, whether or not an input follows: only so can no two inputs ever meet
        # the same masks (ADR 40).
        if not start.slot >= memory.slots_used:
            raise PeerProtocolError(
                AbortCode.REPLAYED, f"slots are used once; got {start.slot} after {memory.slots_used - 1}."
            )
        rounds.check_start(self._agreement, self._me, memory.sharers, start)
        # Slots that the server skipped serve no round any more, so only a thief could use them.
        memory.forget_slots(start.slot)
        memory.slots_used = start.slot + 1
        memory.start = start
        memory.round_digest = binding.round_digest(memory.setup_digest, memory.sharers, start)

    def _sign_input(self, current: rounds.OpenRound) -> bytes:
        """Signs what the mode asks for; a consent is a confirmation of everybody invited."""
        mode, roster = self._agreement.mode, current.start.roster
        if mode.consents:
            # The set that confirmations are compared with: consents count for everybody invited or for
            # nothing (ADR 42).
            self._memory.survivors = roster
        content = binding.input_content(mode, current.digest, roster)
        return self._identity.sign(content) if content else b""

    def _on_survivors(self, shown: SurvivorSet) -> Confirm | UnmaskShares:
        current = self._require_current(shown.round_digest)
        # Before signing: our signature is what makes others release their shares.
        rounds.check_survivors(self._agreement, self._me, current, shown)
        self._memory.survivors = shown.survivors
        if not self._agreement.mode.confirms:
            return self._release(current)
        # One signature a round, even after a crash: two sets can only both be confirmed if some honest client
        # signs twice (Bonawitz et al. 2017, section 6; ADR 42).
        self._claim_round(Deed.CONFIRM_SURVIVORS)
        content = binding.confirmed_content(current.digest, shown.survivors)
        return Confirm(current.digest, self._identity.sign(content))

    def _on_confirmations(self, confirmations: ConfirmSet) -> UnmaskShares:
        current = self._require_current(confirmations.round_digest)
        # Before any share leaves. A server that shows two survivor sets would otherwise get a client's seed
        # from some and its mask key from others: both masks of one input (Bonawitz et al. 2017, consistency
        # check).
        rounds.check_confirmations(self._agreement, current, self._memory.survivors, confirmations)
        return self._release(current)

    def _release(self, current: rounds.OpenRound) -> UnmaskShares:
        # First, and once a round: a second release for another set would be of the other kind (ADR 42, step
        # 2).
        self._claim_round(Deed.RELEASE_SHARES)
        memory, slot = self._memory, current.start.slot
        released = rounds.release(current, memory.survivors, memory.held[slot])
        # With what is left, a thief could help the server to the kind of share that was not released.
        memory.forget_slots(slot + 1)
        return released

    def _place(self) -> setup.Place:
        return self._memory.place(self._me)

    def _current(self) -> rounds.OpenRound:
        return rounds.OpenRound(self._memory.start, self._memory.round_digest)

    def _require_current(self, round_digest: bytes) -> rounds.OpenRound:
        current = self._current()
        # A set or signature of another round, roster or model could name as gone who is in this sum.
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

    def _decode(self, data: bytes) -> Message:
        clients = len(self._agreement.terms.clients)
        return decode(data, self._agreement.digest, self._memory.epoch, clients=clients)

    def _encode(self, message: Message) -> bytes:
        return encode(message, self._agreement.digest, self._memory.epoch)

    @contextmanager
    def _ending_on_error(self) -> Iterator[None]:
        try:
            yield
        # Everything ends the session, a bug or an interrupt too: nobody knows how far secrets were used, and
        # a server that may try again could search for a message that passes.
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"ClientSession(client={self._agreement.name(self._me)!r}, state={self.state.value!r})"
