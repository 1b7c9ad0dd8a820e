"""What clients say to the server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from discreet.secagg.identity import SIGNATURE_BYTES
from discreet.secagg.messages.numbered import Numbered, read_numbered, write_numbered
from discreet.secagg.terms import DIGEST_BYTES
from discreet.secagg.wire import Reader, counted, fixed_list, index_set, uint

_HASH = DIGEST_BYTES


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
class SealedShares:
    """Client to server: for every neighbour, the sealed shares of all slots."""

    TYPE: ClassVar[int] = 5
    boxes: Numbered

    def body(self) -> bytes:
        """Returns the canonical bytes."""
        return write_numbered(self.boxes)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Inverse of `body`."""
        return cls(read_numbered(reader))


@dataclass(frozen=True, slots=True)
class MaskedInput:
    """Client to server: its packed, masked vector.

    ``consent`` is its signature on `binding.input_content`: on the survivor set that holds everybody invited,
    or on the round that it masked for; empty in modes that ask for neither.
    """

    TYPE: ClassVar[int] = 8
    round_digest: bytes
    packed: bytes | memoryview
    consent: bytes = b""

    def body(self) -> bytes:
        """Returns the canonical bytes."""
        return b"".join((self.round_digest, counted(self.consent), uint(len(self.packed), 4), self.packed))

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Inverse of `body`."""
        round_digest, consent = reader.take(_HASH), reader.counted()
        return cls(round_digest, reader.view(reader.uint(4)), consent)


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
class UnmaskShares:
    """Client to server: for every peer whose shares it holds, the one kind that the survivor set allows."""

    TYPE: ClassVar[int] = 12
    round_digest: bytes
    shares: Numbered

    def body(self) -> bytes:
        """Returns the canonical bytes."""
        return self.round_digest + write_numbered(self.shares)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Inverse of `body`."""
        return cls(reader.take(_HASH), read_numbered(reader))

    def __repr__(self) -> str:
        return f"UnmaskShares(<{len(self.shares)} shares hidden>)"
