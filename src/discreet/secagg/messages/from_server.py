"""What the server says to clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from discreet.secagg.messages.from_clients import Advertise
from discreet.secagg.messages.numbered import Numbered, read_numbered, write_numbered
from discreet.secagg.terms import DIGEST_BYTES, RoundTerms
from discreet.secagg.wire import Reader, index_set, require_increasing, uint

_HASH = DIGEST_BYTES


@dataclass(frozen=True, slots=True)
class KeyList:
    """Server to clients: everything that was advertised, by client number."""

    TYPE: ClassVar[int] = 2
    entries: tuple[Advertise, ...]

    def body(self) -> bytes:
        """Returns the canonical bytes."""
        return uint(len(self.entries), 2) + b"".join(entry.body() for entry in self.entries)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Inverse of `body`."""
        entries = tuple(Advertise.read(reader) for _ in range(reader.uint(2)))
        require_increasing([entry.sender for entry in entries])
        return cls(entries)


@dataclass(frozen=True, slots=True)
class Choices:
    """Server to clients: the draws of everyone whose draw arrived, by client number; the same for all."""

    TYPE: ClassVar[int] = 4
    draws: tuple[tuple[int, tuple[int, ...]], ...]

    def body(self) -> bytes:
        """Returns the canonical bytes."""
        return uint(len(self.draws), 2) + b"".join(
            uint(drawer, 2) + index_set(drawn) for drawer, drawn in self.draws
        )

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Inverse of `body`."""
        draws = tuple((reader.uint(2), reader.index_set()) for _ in range(reader.uint(2)))
        require_increasing([drawer for drawer, _ in draws])
        return cls(draws)


@dataclass(frozen=True, slots=True)
class DeliveredShares:
    """Server to client: who shared at all, and the boxes that are for it."""

    TYPE: ClassVar[int] = 6
    sharers: tuple[int, ...]
    boxes: Numbered

    def body(self) -> bytes:
        """Returns the canonical bytes."""
        return index_set(self.sharers) + write_numbered(self.boxes)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Inverse of `body`."""
        return cls(reader.index_set(), read_numbered(reader))


@dataclass(frozen=True, slots=True)
class RoundStart:
    """Server to clients: which round, which slot of keys it uses up, and who is invited."""

    TYPE: ClassVar[int] = 7
    terms: RoundTerms
    slot: int
    roster: tuple[int, ...]

    def body(self) -> bytes:
        """Returns the canonical bytes."""
        return self.terms.encode() + uint(self.slot, 4) + index_set(self.roster)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Inverse of `body`."""
        terms = RoundTerms(reader.uint(4), reader.uint(4), reader.take(_HASH))
        return cls(terms, reader.uint(4), reader.index_set())


@dataclass(frozen=True, slots=True)
class SurvivorSet:
    """Server to clients: whose masked inputs arrived.

    ``attested`` are the signatures that came with these inputs, in modes in which clients ask for them.
    """

    TYPE: ClassVar[int] = 9
    round_digest: bytes
    survivors: tuple[int, ...]
    attested: Numbered = ()

    def body(self) -> bytes:
        """Returns the canonical bytes."""
        return self.round_digest + index_set(self.survivors) + write_numbered(self.attested)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Inverse of `body`."""
        return cls(reader.take(_HASH), reader.index_set(), read_numbered(reader))


@dataclass(frozen=True, slots=True)
class ConfirmSet:
    """Server to clients: the signatures on the survivor set that arrived."""

    TYPE: ClassVar[int] = 11
    round_digest: bytes
    signatures: Numbered

    def body(self) -> bytes:
        """Returns the canonical bytes."""
        return self.round_digest + write_numbered(self.signatures)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Inverse of `body`."""
        return cls(reader.take(_HASH), read_numbered(reader))
