"""The messages, one frozen class each, and their canonical bytes.

A message starts with the version, its type, the digest of the agreement and the epoch (see `encode`); what
follows is its body. Clients are written as their number in the terms. Sizes that the agreement fixes are
checked by whoever reads the message, types and encodings here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from discreet.errors import PeerProtocolError
from discreet.secagg.codes import AbortCode
from discreet.secagg.identity import SIGNATURE_BYTES
from discreet.secagg.terms import DIGEST_BYTES, RoundTerms
from discreet.secagg.wire import Reader, counted, fixed_list, index_set, malformed, require_increasing, uint

_VERSION = b"dsa1"
_HASH = DIGEST_BYTES

Numbered = tuple[tuple[int, bytes], ...]
"""Byte strings, each with a client number, in increasing order."""


@dataclass(frozen=True, slots=True)
class Advertise:
    """Client to server: one channel key, and a mask key and seed commitments for every slot."""

    TYPE: ClassVar[int] = 1
    sender: int
    channel_key: bytes
    mask_keys: tuple[bytes, ...]
    commitments: tuple[bytes, ...]
    signature: bytes

    def unsigned_body(self) -> bytes:
        """Returns the bytes before the signature."""
        return (
            uint(self.sender, 2)
            + self.channel_key
            + fixed_list(self.mask_keys)
            + fixed_list(self.commitments)
        )

    def body(self) -> bytes:
        """Returns the canonical bytes."""
        return self.unsigned_body() + self.signature

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Inverse of `body`."""
        return cls(
            sender=reader.uint(2),
            channel_key=reader.take(_HASH),
            mask_keys=reader.fixed_list(_HASH),
            commitments=reader.fixed_list(_HASH),
            signature=reader.take(SIGNATURE_BYTES),
        )


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
class NeighborChoice:
    """Client to server: the neighbours that it drew."""

    TYPE: ClassVar[int] = 3
    chosen: tuple[int, ...]

    def body(self) -> bytes:
        """Returns the canonical bytes."""
        return index_set(self.chosen)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Inverse of `body`."""
        return cls(reader.index_set())


@dataclass(frozen=True, slots=True)
class ChosenBy:
    """Server to client: who drew it, and whose draws arrived at all."""

    TYPE: ClassVar[int] = 4
    choosers: tuple[int, ...]
    members: tuple[int, ...]

    def body(self) -> bytes:
        """Returns the canonical bytes."""
        return index_set(self.choosers) + index_set(self.members)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Inverse of `body`."""
        return cls(reader.index_set(), reader.index_set())


@dataclass(frozen=True, slots=True)
class SealedShares:
    """Client to server: for every neighbour, the sealed shares of all slots."""

    TYPE: ClassVar[int] = 5
    boxes: Numbered

    def body(self) -> bytes:
        """Returns the canonical bytes."""
        return _write_numbered(self.boxes)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Inverse of `body`."""
        return cls(_read_numbered(reader))


@dataclass(frozen=True, slots=True)
class DeliveredShares:
    """Server to client: who shared at all, and the boxes that are for it."""

    TYPE: ClassVar[int] = 6
    sharers: tuple[int, ...]
    boxes: Numbered

    def body(self) -> bytes:
        """Returns the canonical bytes."""
        return index_set(self.sharers) + _write_numbered(self.boxes)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Inverse of `body`."""
        return cls(reader.index_set(), _read_numbered(reader))


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
class MaskedInput:
    """Client to server: its packed, masked vector."""

    TYPE: ClassVar[int] = 8
    round_digest: bytes
    packed: bytes | memoryview

    def body(self) -> bytes:
        """Returns the canonical bytes."""
        return b"".join((self.round_digest, uint(len(self.packed), 4), self.packed))

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Inverse of `body`."""
        return cls(reader.take(_HASH), reader.view(reader.uint(4)))


@dataclass(frozen=True, slots=True)
class SurvivorSet:
    """Server to clients: whose masked inputs arrived."""

    TYPE: ClassVar[int] = 9
    round_digest: bytes
    survivors: tuple[int, ...]

    def body(self) -> bytes:
        """Returns the canonical bytes."""
        return self.round_digest + index_set(self.survivors)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Inverse of `body`."""
        return cls(reader.take(_HASH), reader.index_set())


@dataclass(frozen=True, slots=True)
class Confirm:
    """Client to server: its signature on the survivor set that it was shown."""

    TYPE: ClassVar[int] = 10
    round_digest: bytes
    signature: bytes

    def body(self) -> bytes:
        """Returns the canonical bytes."""
        return self.round_digest + self.signature

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Inverse of `body`."""
        return cls(reader.take(_HASH), reader.take(SIGNATURE_BYTES))


@dataclass(frozen=True, slots=True)
class ConfirmSet:
    """Server to clients: the signatures that arrived."""

    TYPE: ClassVar[int] = 11
    round_digest: bytes
    signatures: Numbered

    def body(self) -> bytes:
        """Returns the canonical bytes."""
        return self.round_digest + _write_numbered(self.signatures)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Inverse of `body`."""
        return cls(reader.take(_HASH), _read_numbered(reader))


@dataclass(frozen=True, slots=True)
class UnmaskShares:
    """Client to server: for every peer whose shares it holds, the one kind that the survivor set allows."""

    TYPE: ClassVar[int] = 12
    round_digest: bytes
    shares: Numbered

    def body(self) -> bytes:
        """Returns the canonical bytes."""
        return self.round_digest + _write_numbered(self.shares)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Inverse of `body`."""
        return cls(reader.take(_HASH), _read_numbered(reader))

    def __repr__(self) -> str:
        return f"UnmaskShares(<{len(self.shares)} shares hidden>)"


ClientMessage = Advertise | NeighborChoice | SealedShares | MaskedInput | Confirm | UnmaskShares
ServerMessage = KeyList | ChosenBy | DeliveredShares | RoundStart | SurvivorSet | ConfirmSet
Message = ClientMessage | ServerMessage

_TYPES: dict[int, type[Message]] = {
    cls.TYPE: cls
    for cls in (
        Advertise,
        KeyList,
        NeighborChoice,
        ChosenBy,
        SealedShares,
        DeliveredShares,
        RoundStart,
        MaskedInput,
        SurvivorSet,
        Confirm,
        ConfirmSet,
        UnmaskShares,
    )
}


def encode(message: Message, agreement_digest: bytes, epoch: int) -> bytes:
    """Returns the canonical bytes of a message of one epoch."""
    return b"".join((_VERSION, uint(message.TYPE, 1), agreement_digest, uint(epoch, 4), message.body()))


def decode(data: bytes, agreement_digest: bytes, epoch: int) -> Message:
    """Reads a message.

    Raises:
        PeerProtocolError: ``malformed`` for bytes that are no message, ``wrong-session`` for a message that
            belongs to another agreement or epoch.
    """
    reader = Reader(data)
    if reader.take(len(_VERSION)) != _VERSION:
        raise malformed(f"a message must start with {_VERSION!r}; got another version.")
    kind = reader.uint(1)
    if kind not in _TYPES:
        raise malformed(f"message types are 1 to {max(_TYPES)}; got {kind}.")
    if reader.take(DIGEST_BYTES) != agreement_digest or reader.uint(4) != epoch:
        raise PeerProtocolError(
            AbortCode.WRONG_SESSION,
            f"messages must be made for these terms and epoch {epoch}; got one of another session or epoch.",
        )
    message = _TYPES[kind].read(reader)
    reader.end()
    return message


def _write_numbered(items: Numbered) -> bytes:
    """Writes numbered byte strings."""
    return uint(len(items), 2) + b"".join(uint(index, 2) + counted(item) for index, item in items)


def _read_numbered(reader: Reader) -> Numbered:
    """Reads numbered byte strings, numbers strictly increasing."""
    items = tuple((reader.uint(2), reader.counted()) for _ in range(reader.uint(2)))
    require_increasing([index for index, _ in items])
    return items
