"""Messages to bytes and back: the version, the type, what the message belongs to, then its body."""

from __future__ import annotations

import struct
from typing import get_args

from discreet.errors import PeerProtocolError
from discreet.secagg.codes import AbortCode
from discreet.secagg.messages import Message
from discreet.secagg.terms import DIGEST_BYTES
from discreet.secagg.wire import MAX_CLIENTS, Reader, malformed

_VERSION = b"dsa4"
_HEADER = struct.Struct(f"<4sB{DIGEST_BYTES}sI")

_TYPES: dict[int, type[Message]] = {cls.TYPE: cls for cls in get_args(Message)}


def encode(message: Message, agreement_digest: bytes, epoch: int) -> bytes:
    """Returns the canonical bytes of a message of one epoch."""
    return b"".join((_HEADER.pack(_VERSION, message.TYPE, agreement_digest, epoch), *message.parts()))


def kind_of(data: bytes, agreement_digest: bytes, epoch: int) -> type[Message]:
    """Returns which message this is, by its header alone; its body may be as long as a carrier lets through.

    Raises:
        PeerProtocolError: ``malformed`` for bytes that are no message, ``wrong-session`` for a message that
            belongs to another agreement or epoch.
    """
    version, kind, digest, of_epoch = _HEADER.unpack(Reader(data).view(_HEADER.size))
    if version != _VERSION:
        raise malformed(f"a message must start with {_VERSION!r}; got another version.")
    if kind not in _TYPES:
        raise malformed(f"message types are 1 to {max(_TYPES)}; got {kind}.")
    # What another session or epoch says is not even parsed.
    if (digest, of_epoch) != (agreement_digest, epoch):
        raise PeerProtocolError(
            AbortCode.WRONG_SESSION,
            f"messages must be made for these terms and epoch {epoch}; got one of another session or epoch.",
        )
    return _TYPES[kind]


def decode(data: bytes, agreement_digest: bytes, epoch: int, *, clients: int = MAX_CLIENTS) -> Message:
    """Reads a message of ``clients`` clients at most; raises as `kind_of` does."""
    kind = kind_of(data, agreement_digest, epoch)
    reader = Reader(data, clients=clients)
    reader.view(_HEADER.size)
    message = kind.read(reader)
    # Bytes behind the last field would be a second encoding of one message.
    reader.end()
    return message
