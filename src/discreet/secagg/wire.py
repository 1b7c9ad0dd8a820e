"""Canonical bytes: one writer and one reader for fixed-width little-endian fields and counted lists.

Everything that is signed, hashed or authenticated is written with these, so two different values never have
the same bytes and one value never has two encodings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from discreet.errors import PeerProtocolError
from discreet.secagg.codes import AbortCode


def uint(value: int, size: int) -> bytes:
    """Encodes a non-negative integer in ``size`` bytes."""
    return value.to_bytes(size, "little")


def counted(body: bytes) -> bytes:
    """Encodes bytes behind their length."""
    return uint(len(body), 4) + body


def index_set(indices: Iterable[int]) -> bytes:
    """Encodes a set of client indices: how many, then each in increasing order."""
    ordered = sorted(indices)
    return uint(len(ordered), 2) + b"".join(uint(index, 2) for index in ordered)


def fixed_list(items: Sequence[bytes]) -> bytes:
    """Encodes items whose size both ends know: how many, then each."""
    return uint(len(items), 4) + b"".join(items)


class Reader:
    """Reads fields in order; whatever does not fit is a `PeerProtocolError` with code ``malformed``."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)
        self._at = 0

    def take(self, size: int) -> bytes:
        """Returns the next ``size`` bytes."""
        return bytes(self.view(size))

    def view(self, size: int) -> memoryview:
        """Returns the next ``size`` bytes without copying them."""
        end = self._at + size
        if end > len(self._data):
            raise malformed("a message must hold all its fields; got one that ends early.")
        part = self._data[self._at : end]
        self._at = end
        return part

    def uint(self, size: int) -> int:
        """Returns the next unsigned integer of ``size`` bytes."""
        return int.from_bytes(self.take(size), "little")

    def counted(self) -> bytes:
        """Returns bytes that stand behind their length."""
        return self.take(self.uint(4))

    def index_set(self) -> tuple[int, ...]:
        """Returns client indices, strictly increasing."""
        body = self.take(2 * self.uint(2))
        indices = tuple(int.from_bytes(body[at : at + 2], "little") for at in range(0, len(body), 2))
        require_increasing(indices)
        return indices

    def fixed_list(self, size: int) -> tuple[bytes, ...]:
        """Returns items of ``size`` bytes each."""
        body = self.take(size * self.uint(4))
        return tuple(body[at : at + size] for at in range(0, len(body), size))

    def end(self) -> None:
        """Refuses bytes behind the last field."""
        if self._at != len(self._data):
            raise malformed("a message must end with its last field; got bytes behind it.")


def require_increasing(indices: Sequence[int]) -> None:
    """Refuses a set that is repeated or out of order, so that every set has one encoding."""
    if not all(low < high for low, high in pairwise(indices)):
        raise malformed("client indices must strictly increase; got a repeated or misplaced one.")


def malformed(message: str) -> PeerProtocolError:
    """Makes the error for bytes that are no message."""
    return PeerProtocolError(AbortCode.MALFORMED, message)
