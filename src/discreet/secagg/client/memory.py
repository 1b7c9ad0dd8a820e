"""What a client session must remember between two messages, and its canonical bytes.

An engine that starts a new process for every message stores these bytes, sealed (`ClientSession.suspend`).
Fields that the session has not reached yet are empty.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from discreet.secagg import binding
from discreet.secagg.agreement import Agreement
from discreet.secagg.client.setup import Place, SlotSecrets
from discreet.secagg.graph import Neighborhood
from discreet.secagg.hazmat.secret import Secret
from discreet.secagg.messages import Advertise, KeyList, RoundStart
from discreet.secagg.terms import DIGEST_BYTES, RoundTerms
from discreet.secagg.transitions import ClientState
from discreet.secagg.wire import Reader, counted, index_set, uint

_NOWHERE = Neighborhood(frozenset(), frozenset(), frozenset())
_NO_OFFER = Advertise(0, b"", (), (), b"")
_NO_ROUND = RoundStart(RoundTerms(0, 0, bytes(DIGEST_BYTES)), 0, ())


@dataclass(slots=True)
class ClientMemory:
    """The state of a session; secrets are in boxes that do not show them.

    Attributes:
        epoch: the number of this setup.
        channel: the private key that agrees on channels; wiped once they exist.
        slots: our own secrets, by slot; wiped once used.
        state: where the session is.
        own_offer: what we advertised.
        keys: what everyone advertised.
        choice: the neighbours that we drew.
        graph: our place in the graph.
        channels: secrets shared with those to whom or from whom shares go; wiped once those are there.
        own_shares: our shares of our own secrets, of all slots; wiped once sorted into ``held``.
        sharers: who completed the setup.
        held: others' shares (and ours), by slot and owner; wiped once the round is over for us.
        slots_used: the slots that no round may use any more.
        start: the open round.
        survivors: the survivor set that we signed in it, or were shown.
    """

    epoch: int
    channel: Secret
    slots: list[SlotSecrets]
    state: ClientState = ClientState.NEW
    own_offer: Advertise = _NO_OFFER
    keys: KeyList = field(default_factory=lambda: KeyList(()))
    choice: tuple[int, ...] = ()
    graph: Neighborhood = _NOWHERE
    channels: dict[int, Secret] = field(default_factory=dict)
    own_shares: Secret = field(default_factory=lambda: Secret(b""))
    sharers: tuple[int, ...] = ()
    held: list[dict[int, Secret]] = field(default_factory=list)
    slots_used: int = 0
    start: RoundStart = _NO_ROUND
    survivors: tuple[int, ...] = ()

    def place(self, agreement: Agreement, me: int) -> Place:
        """Returns where we stand in the epoch."""
        offers = {offer.sender: offer for offer in self.keys.entries}
        digest = binding.keys_digest(agreement, self.epoch, self.keys)
        return Place(me, self.epoch, offers, digest, self.graph)

    def forget_slots(self, end: int) -> None:
        """Wipes everything that belongs to the slots before ``end``."""
        for slot in self.slots[:end]:
            slot.wipe()
        for shares in self.held[:end]:
            for share in shares.values():
                share.wipe()

    def wipe(self) -> None:
        """Wipes every secret."""
        self.forget_slots(len(self.slots))
        for secret in (self.channel, self.own_shares, *self.channels.values()):
            secret.wipe()

    def encode(self) -> bytes:
        """Returns the canonical bytes, secrets included: seal them at once."""
        graph = self.graph
        parts = [
            uint(self.epoch, 4),
            counted(self.state.value.encode()),
            uint(self.slots_used, 4),
            _write_secret(self.channel),
            uint(len(self.slots), 4),
            *(_write_secret(box) for slot in self.slots for box in (slot.mask_key, *slot.seeds)),
            counted(self.own_offer.body() if self.own_offer.signature else b""),
            self.keys.body(),
            *(index_set(part) for part in (self.choice, graph.maskers, graph.holders, graph.owners)),
            _write_secrets(self.channels),
            _write_secret(self.own_shares),
            index_set(self.sharers),
            uint(len(self.held), 4),
            *(_write_secrets(shares) for shares in self.held),
            self.start.body(),
            index_set(self.survivors),
        ]
        return b"".join(parts)


def decode_memory(agreement: Agreement, data: bytes) -> ClientMemory:
    """Inverse of `ClientMemory.encode`."""
    reader = Reader(data)
    epoch, state, slots_used = reader.uint(4), ClientState(reader.counted().decode()), reader.uint(4)
    memory = ClientMemory(epoch, _read_secret(reader), [], state, slots_used=slots_used)
    for _ in range(reader.uint(4)):
        mask_key, *seeds = (_read_secret(reader) for _ in range(1 + agreement.num_seeds))
        memory.slots.append(SlotSecrets(mask_key, tuple(seeds)))
    offer = reader.counted()
    if offer:
        memory.own_offer = Advertise.read(Reader(offer))
    memory.keys = KeyList.read(reader)
    memory.choice = reader.index_set()
    maskers, holders, owners = (frozenset(reader.index_set()) for _ in range(3))
    memory.graph = Neighborhood(maskers, holders, owners)
    memory.channels = _read_secrets(reader)
    memory.own_shares = _read_secret(reader)
    memory.sharers = reader.index_set()
    memory.held = [_read_secrets(reader) for _ in range(reader.uint(4))]
    memory.start = RoundStart.read(reader)
    memory.survivors = reader.index_set()
    reader.end()
    return memory


def split_slots(opened: dict[int, Secret], slot_bytes: int, num_slots: int) -> list[dict[int, Secret]]:
    """Sorts everyone's shares by slot, so that each slot can be wiped by itself."""
    return [
        {
            owner: Secret(shares.reveal()[slot * slot_bytes : (slot + 1) * slot_bytes])
            for owner, shares in opened.items()
        }
        for slot in range(num_slots)
    ]


def _write_secret(secret: Secret) -> bytes:
    """Writes a secret, or nothing where it was wiped."""
    return counted(secret.reveal() if len(secret) else b"")


def _read_secret(reader: Reader) -> Secret:
    return Secret(reader.counted())


def _write_secrets(secrets: dict[int, Secret]) -> bytes:
    """Writes secrets by client number."""
    items = (uint(index, 2) + _write_secret(secrets[index]) for index in sorted(secrets))
    return uint(len(secrets), 2) + b"".join(items)


def _read_secrets(reader: Reader) -> dict[int, Secret]:
    """Inverse of `_write_secrets`."""
    return {reader.uint(2): _read_secret(reader) for _ in range(reader.uint(2))}
