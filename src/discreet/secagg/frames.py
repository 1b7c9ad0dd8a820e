"""Messages cut into frames of bounded size, for transports with a limit, and put together again.

A frame holds the length and the hash of the whole message and its own offset. Frames of one message arrive
in order; an assembler holds one message at a time and never more than its agreed limit, whatever a peer says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import final

from discreet.errors import LocalProtocolError
from discreet.secagg.agreement import SECRET_BYTES, Agreement
from discreet.secagg.codes import AbortCode
from discreet.secagg.graph import ChosenGraph
from discreet.secagg.hazmat.keys import TAG_BYTES
from discreet.secagg.packing import packed_size
from discreet.secagg.terms import DIGEST_BYTES
from discreet.secagg.wire import Reader, malformed, uint

_LENGTH_BYTES = 5
FRAME_HEADER_BYTES = DIGEST_BYTES + 2 * _LENGTH_BYTES
_PER_ENTRY = 256
_FIXED = 4096


def max_message_bytes(agreement: Agreement) -> int:
    """Returns a size that no message of a session exceeds: a vector, or keys, draws or shares of all."""
    clients, terms = len(agreement.terms.clients), agreement.terms
    draw = 2 * agreement.graph.degree if isinstance(agreement.graph, ChosenGraph) else 0
    slots = agreement.rounds_per_setup * (agreement.slot_bytes + SECRET_BYTES)
    return packed_size(terms.length, terms.bits) + clients * (slots + draw + TAG_BYTES + _PER_ENTRY) + _FIXED


def split(message: bytes, frame_bytes: int) -> Iterator[bytes]:
    """Cuts a message into frames of at most ``frame_bytes``.

    Raises:
        LocalProtocolError: if a frame has no room for its header.

    Example:
        >>> [len(frame) for frame in split(b"0123456789", 46)]
        [46, 46, 44]
    """
    room = frame_bytes - FRAME_HEADER_BYTES
    if not room > 0:
        raise LocalProtocolError(
            AbortCode.MALFORMED,
            f"frames must exceed their header of {FRAME_HEADER_BYTES} bytes; got {frame_bytes}.",
        )
    view, name = memoryview(message), hashlib.sha256(message).digest()
    for offset in range(0, max(1, len(message)), room):
        header = name + uint(len(message), _LENGTH_BYTES) + uint(offset, _LENGTH_BYTES)
        yield b"".join((header, view[offset : offset + room]))


@final
class FrameAssembler:
    """Puts the frames of one peer's messages together.

    Args:
        limit: the longest message that is accepted; see `max_message_bytes`.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._name = b""
        self._length = 0
        self._received = bytearray()

    def add(self, frame: bytes) -> bytes | None:
        """Takes the next frame.

        Returns:
            The message, if this was its last frame.

        Raises:
            PeerProtocolError: for a frame out of order, too long, or a message that does not match its hash.
                The assembler then waits for a first frame again.
        """
        reader = Reader(frame)
        name, length, offset = (
            reader.take(DIGEST_BYTES),
            reader.uint(_LENGTH_BYTES),
            reader.uint(_LENGTH_BYTES),
        )
        part = reader.view(len(frame) - FRAME_HEADER_BYTES)
        if offset == 0:
            self._name, self._length, self._received = name, length, bytearray()
        expected = (self._name, self._length, len(self._received))
        end = offset + len(part)
        if (name, length, offset) != expected or end > length or not length <= self._limit:
            self._forget()
            raise malformed(f"frames must continue one message of at most {self._limit} bytes; one does not.")
        self._received += part
        if end < length:
            return None
        message = bytes(self._received)
        self._forget()
        if hashlib.sha256(message).digest() != name:
            raise malformed("a message must have the hash that its frames announce; it has not.")
        return message

    def _forget(self) -> None:
        """Waits for a first frame; an empty name fits none."""
        self._name, self._length, self._received = b"", 0, bytearray()
