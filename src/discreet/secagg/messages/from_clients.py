"""What clients say to the server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from discreet.secagg.hazmat.keys import KEY_BYTES
from discreet.secagg.identity import SIGNATURE_BYTES
from discreet.secagg.terms import DIGEST_BYTES, Digest
from discreet.secagg.wire import Client, Counted, CountedView, IndexSet, Numbered, Record, sized, sized_list

Key = Annotated[bytes, sized(KEY_BYTES)]
Keys = Annotated[tuple[bytes, ...], sized_list(KEY_BYTES)]
Digests = Annotated[tuple[bytes, ...], sized_list(DIGEST_BYTES)]
Signature = Annotated[bytes, sized(SIGNATURE_BYTES)]


@dataclass(frozen=True, slots=True)
class Advertise(Record):
    """Client to server: one channel key, and a mask key and seed commitments for every slot."""

    TYPE: ClassVar[int] = 1
    sender: Client
    channel_key: Key
    mask_keys: Keys
    commitments: Digests
    signature: Signature

    def unsigned_body(self) -> bytes:
        """Returns the bytes before the signature."""
        return b"".join(self.parts(without="signature"))


@dataclass(frozen=True, slots=True)
class NeighborChoice(Record):
    """Client to server: the neighbours that it drew."""

    TYPE: ClassVar[int] = 3
    chosen: IndexSet


@dataclass(frozen=True, slots=True)
class SealedShares(Record):
    """Client to server: for every neighbour, the sealed shares of all slots."""

    TYPE: ClassVar[int] = 5
    boxes: Numbered


@dataclass(frozen=True, slots=True)
class MaskedInput(Record):
    """Client to server: its packed, masked vector.

    ``consent`` is its signature on `binding.input_content`: on the survivor set that holds everybody invited,
    or on the round that it masked for; empty in modes that ask for neither.
    """

    TYPE: ClassVar[int] = 8
    round_digest: Digest
    consent: Counted
    packed: CountedView


@dataclass(frozen=True, slots=True)
class Confirm(Record):
    """Client to server: its signature on the survivor set that it was shown."""

    TYPE: ClassVar[int] = 10
    round_digest: Digest
    signature: Signature


@dataclass(frozen=True, slots=True)
class UnmaskShares(Record):
    """Client to server: for every peer whose shares it holds, the one kind that the survivor set allows."""

    TYPE: ClassVar[int] = 12
    round_digest: Digest
    shares: Numbered

    def __repr__(self) -> str:
        return f"UnmaskShares(<{len(self.shares)} shares hidden>)"
