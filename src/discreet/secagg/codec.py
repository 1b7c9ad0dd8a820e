"""Messages to bytes and back: the version, the type, what the message belongs to, then its body."""

from __future__ import annotations

from discreet.errors import PeerProtocolError
from discreet.secagg.codes import AbortCode
from discreet.secagg.messages import (
    Advertise,
    Choices,
    Confirm,
    ConfirmSet,
    DeliveredShares,
    KeyList,
    MaskedInput,
    Message,
    NeighborChoice,
    RoundStart,
    SealedShares,
    SurvivorSet,
    UnmaskShares,
)
from discreet.secagg.terms import DIGEST_BYTES
from discreet.secagg.wire import Reader, malformed, uint

_VERSION = b"dsa3"

_TYPES: dict[int, type[Message]] = {
    cls.TYPE: cls
    for cls in (
        Advertise,
        KeyList,
        NeighborChoice,
        Choices,
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
