"""What the server keeps of a setup: the keys, the graph, and the sealed boxes on their way."""

from __future__ import annotations

from dataclasses import dataclass, field

from discreet.errors import PeerProtocolError
from discreet.secagg import binding
from discreet.secagg.agreement import Agreement
from discreet.secagg.codes import AbortCode
from discreet.secagg.draws import check_draw, neighborhoods
from discreet.secagg.graph import ChosenGraph, CompleteGraph, HararyGraph, Neighborhood
from discreet.secagg.hazmat.keys import TAG_BYTES
from discreet.secagg.merkle import Tree
from discreet.secagg.messages import (
    Advertise,
    Choices,
    DeliveredShares,
    KeyList,
    KeyPaths,
    NeighborChoice,
    SealedShares,
    Shown,
)
from discreet.secagg.offers import add_distinct, check_offer


@dataclass(slots=True)
class ServerSetup:
    """The public facts of an epoch as they come in; `ServerSession` decides when a stage is over."""

    agreement: Agreement
    epoch: int
    offers: dict[int, Advertise] = field(default_factory=dict)
    public_values: set[bytes] = field(default_factory=set)
    choices: dict[int, tuple[int, ...]] = field(default_factory=dict)
    boxes: dict[int, dict[int, bytes]] = field(default_factory=dict)
    graph: dict[int, Neighborhood] = field(default_factory=dict)
    digest: bytes = b""

    @property
    def sharers(self) -> tuple[int, ...]:
        """Everyone who got as far as sharing its secrets."""
        return tuple(sorted(self.boxes))

    def add_offer(self, sender: int, offer: Advertise) -> None:
        """Takes a client's keys; refuses a bad signature, a wrong size and keys that someone else offered."""
        # The transport says who speaks, the signature for whom; an offer that is carried by somebody else is
        # none.
        if offer.sender != sender:
            raise PeerProtocolError(
                AbortCode.UNKNOWN_CLIENT, "clients must advertise under their own number."
            )
        # The signature first: a forged offer would else reserve a victim's key, and the victim's own count as
        # the copy.
        check_offer(self.agreement, self.epoch, offer)
        add_distinct(self.public_values, offer)
        self.offers[sender] = offer

    def key_list(self) -> KeyList:
        """Closes the list of keys; everything from here on is bound to it."""
        keys = KeyList(tuple(self.offers[index] for index in sorted(self.offers)))
        self.digest = binding.keys_digest(self.agreement, self.epoch, keys)
        if isinstance(self.agreement.graph, CompleteGraph):
            self.graph = self.agreement.graph.neighborhoods(tuple(self.offers), self.digest)
        return keys

    def key_paths(self, rule: HararyGraph) -> dict[int, KeyPaths]:
        """Closes the list of keys under a root; shows every client its own and its neighbours' keys."""
        tree = Tree(
            {index: offer.body() for index, offer in self.offers.items()}, len(self.agreement.terms.clients)
        )
        members = tuple(sorted(self.offers))
        self.digest = binding.paths_digest(self.agreement, self.epoch, members, tree.root)
        self.graph = rule.neighborhoods(members, self.digest)
        shown = {index: Shown(offer, tree.path(index)) for index, offer in self.offers.items()}
        return {
            index: KeyPaths(members, tree.root, tuple(shown[one] for one in sorted({index, *near.maskers})))
            for index, near in self.graph.items()
        }

    def add_choice(self, sender: int, choice: NeighborChoice) -> None:
        """Takes the neighbours that a client drew."""
        rule = self.agreement.graph
        if not isinstance(rule, ChosenGraph):
            raise PeerProtocolError(AbortCode.BAD_GRAPH, "neighbours follow from the keys in this mode.")
        check_draw(rule, self.offers.keys(), sender, choice.chosen)
        self.choices[sender] = choice.chosen

    def all_choices(self) -> Choices:
        """Fixes the graph among those who drew; everything from here on is bound to all draws."""
        choices = Choices(tuple(sorted(self.choices.items())))
        self.graph = neighborhoods(self.choices)
        self.digest = binding.graph_digest(self.digest, choices)
        return choices

    def add_shares(self, sender: int, shares: SealedShares) -> None:
        """Takes a client's sealed boxes; they must be for exactly its holders and of the agreed size."""
        size = self.agreement.rounds_per_setup * self.agreement.slot_bytes + TAG_BYTES
        boxes = dict(shares.boxes)
        # Here a missing box costs its sender its place; found by a receiver, it would end the receiver's
        # session.
        if boxes.keys() != self.graph[sender].holders - {sender} or not all(
            len(box) == size for box in boxes.values()
        ):
            raise PeerProtocolError(
                AbortCode.MALFORMED,
                "sealed shares must be for exactly the holders, each of the agreed size.",
            )
        self.boxes[sender] = boxes

    def delivered(self) -> dict[int, DeliveredShares]:
        """Sorts the boxes by receiver."""
        sharers = self.sharers
        by_receiver: dict[int, list[tuple[int, bytes]]] = {index: [] for index in sharers}
        for sender in sharers:
            for receiver, box in self.boxes[sender].items():
                # Those who shared nothing get nothing.
                if receiver in by_receiver:
                    by_receiver[receiver].append((sender, box))
        return {index: DeliveredShares(sharers, tuple(boxes)) for index, boxes in by_receiver.items()}
