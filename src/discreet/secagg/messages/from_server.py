"""What the server says to clients."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Annotated, ClassVar

from discreet.secagg.messages.from_clients import Advertise, Digests
from discreet.secagg.terms import Digest, RoundTerms
from discreet.secagg.wire import INDEX_SET, U32, Form, IndexSet, Numbered, Record, in_order, numbered

Offers = Annotated[
    tuple[Advertise, ...], in_order(Form(Advertise.body, Advertise.read), attrgetter("sender"))
]
Draws = Annotated[tuple[tuple[int, tuple[int, ...]], ...], numbered(INDEX_SET)]


@dataclass(frozen=True, slots=True)
class KeyList(Record):
    """Server to clients: everything that was advertised, by client number."""

    TYPE: ClassVar[int] = 2
    entries: Offers


@dataclass(frozen=True, slots=True)
class Shown(Record):
    """One advertisement, and the hashes that lead from it to the root."""

    offer: Annotated[Advertise, Form(Advertise.body, Advertise.read)]
    path: Digests


@dataclass(frozen=True, slots=True)
class KeyPaths(Record):
    """Server to a client: who advertised, the root of all advertisements, and those that concern it.

    The first two are the same for all; ``shown`` holds the client's own advertisement and its neighbours'.
    """

    TYPE: ClassVar[int] = 13
    members: IndexSet
    root: Digest
    shown: Annotated[tuple[Shown, ...], in_order(Form(Shown.body, Shown.read), attrgetter("offer.sender"))]


@dataclass(frozen=True, slots=True)
class Choices(Record):
    """Server to clients: the draws of everyone whose draw arrived, by client number; the same for all."""

    TYPE: ClassVar[int] = 4
    draws: Draws


@dataclass(frozen=True, slots=True)
class DeliveredShares(Record):
    """Server to client: who shared at all, and the boxes that are for it."""

    TYPE: ClassVar[int] = 6
    sharers: IndexSet
    boxes: Numbered


@dataclass(frozen=True, slots=True)
class RoundStart(Record):
    """Server to clients: which round, which slot of keys it uses up, and who is invited."""

    TYPE: ClassVar[int] = 7
    terms: Annotated[RoundTerms, Form(RoundTerms.body, RoundTerms.read)]
    slot: U32
    roster: IndexSet


@dataclass(frozen=True, slots=True)
class SurvivorSet(Record):
    """Server to clients: whose masked inputs arrived.

    ``attested`` are the signatures that came with these inputs, in modes in which clients ask for them.
    """

    TYPE: ClassVar[int] = 9
    round_digest: Digest
    survivors: IndexSet
    attested: Numbered = ()


@dataclass(frozen=True, slots=True)
class ConfirmSet(Record):
    """Server to clients: the signatures on the survivor set that arrived."""

    TYPE: ClassVar[int] = 11
    round_digest: Digest
    signatures: Numbered
