"""What a client session must remember between two messages, for as long as its process lives.

Fields that the session has not reached yet are empty. Nothing writes them down: a client whose process ends
has lost its keys and takes part again in a later epoch.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from discreet.secagg.client.setup import Place, SlotSecrets
from discreet.secagg.graph import Neighborhood
from discreet.secagg.hazmat.secret import Secret
from discreet.secagg.messages import Advertise, RoundStart
from discreet.secagg.terms import DIGEST_BYTES, RoundTerms
from discreet.secagg.transitions import ClientState

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
        offers: what those advertised whose keys we were shown, by number.
        members: who may share secrets; see `Place`.
        setup_digest: hash of all keys, and of all draws once they are known.
        choice: the neighbours that we drew.
        graph: our place in the graph.
        channels: secrets shared with those to whom or from whom shares go; wiped once those are there.
        own_shares: our shares of our own secrets, of all slots; wiped once sorted into ``held``.
        sharers: who completed the setup.
        held: others' shares (and ours), by slot and owner; wiped once the round is over for us.
        slots_used: the slots that no round may use any more.
        start: the open round.
        round_digest: hash of everything that its masks depend on.
        survivors: the survivor set that we signed in it, or were shown.
    """

    epoch: int
    channel: Secret
    slots: list[SlotSecrets]
    state: ClientState = ClientState.NEW
    own_offer: Advertise = _NO_OFFER
    offers: dict[int, Advertise] = field(default_factory=dict)
    members: tuple[int, ...] = ()
    setup_digest: bytes = b""
    choice: tuple[int, ...] = ()
    graph: Neighborhood = _NOWHERE
    channels: dict[int, Secret] = field(default_factory=dict)
    own_shares: Secret = field(default_factory=lambda: Secret(b""))
    sharers: tuple[int, ...] = ()
    held: list[dict[int, Secret]] = field(default_factory=list)
    slots_used: int = 0
    start: RoundStart = _NO_ROUND
    round_digest: bytes = b""
    survivors: tuple[int, ...] = ()

    def place(self, me: int) -> Place:
        """Returns where we stand in the epoch."""
        return Place(me, self.epoch, self.offers, self.members, self.setup_digest, self.graph)

    def forget_slots(self, end: int) -> None:
        """Wipes everything that belongs to the slots before ``end``."""
        for slot in self.slots[:end]:
            slot.wipe()
        # Others' shares too: seized after the round, they would add to those that the server collected, of
        # the kind that was not released.
        for shares in self.held[:end]:
            for share in shares.values():
                share.wipe()

    def wipe(self) -> None:
        """Wipes every secret."""
        self.forget_slots(len(self.slots))
        for secret in (self.channel, self.own_shares, *self.channels.values()):
            secret.wipe()


def split_slots(opened: dict[int, Secret], slot_bytes: int, num_slots: int) -> list[dict[int, Secret]]:
    """Sorts everyone's shares by slot, so that each slot can be wiped by itself."""
    return [
        {
            owner: Secret(shares.reveal()[slot * slot_bytes : (slot + 1) * slot_bytes])
            for owner, shares in opened.items()
        }
        for slot in range(num_slots)
    ]
