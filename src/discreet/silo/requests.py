"""What a server may ask of a silo and what a silo answers: closed unions with one canonical byte form.

A message is a JSON header (its type, its small fields, the sizes of its byte strings) and then the byte
strings themselves, so that a masked vector of ten million weights is carried without any encoding.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from discreet.documents import read_json
from discreet.errors import PeerProtocolError

_MAGIC = b"dsr1"
_LENGTH_BYTES = 4
_MAX_HEADER = 1 << 20
_EPOCHS = 1 << 32
# The value of secagg.AbortCode.MALFORMED, whose module would load all of secure aggregation in every carrier.
_MALFORMED = "malformed"


@dataclass(frozen=True, slots=True)
class Hello:
    """Asks whether a silo is there; costs nothing and promises nothing."""


@dataclass(frozen=True, slots=True)
class Propose:
    """Asks a silo to take part in a training, or to make new keys for one that it takes part in.

    Attributes:
        epoch: number of the key setup within ``session``.
        session: 32 bytes, fresh for every start of the server.
        plan: the serialised plan.
        allow_list: the allow-list that the consortium signed.
    """

    epoch: int
    session: bytes
    plan: bytes
    allow_list: bytes

    def __post_init__(self) -> None:
        if not 0 <= self.epoch < _EPOCHS:
            raise ValueError(f"an epoch must be in [0, {_EPOCHS}); got {self.epoch}.")


@dataclass(frozen=True, slots=True)
class Deliver:
    """Brings secure-aggregation messages, and with an invitation the public model that the round starts from.

    Attributes:
        messages: server messages of `discreet.secagg`, in order.
        parameters: what this silo starts from: float64, little-endian; empty unless the last message invites
            to a round.
        models: where a timetable lets silos start from different models, SHA-256 of each, the oldest first.
    """

    messages: tuple[bytes, ...]
    parameters: bytes = b""
    models: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Begin:
    """Brings the model for a sum that is made only after others, so that the silo trains meanwhile.

    Nothing leaves the silo for it, and nothing is charged before the invitation.

    Attributes:
        release: number of the sum, from 1.
        attempt: the number that the server's invitation will have if nothing comes in between; it names the
            randomness.
        parameters: float64, little-endian.
    """

    release: int
    attempt: int
    parameters: bytes

    def __post_init__(self) -> None:
        if min(self.release, self.attempt) < 0:
            raise ValueError(
                f"release and attempt must be at least 0; got {self.release} and {self.attempt}."
            )


@dataclass(frozen=True, slots=True)
class Farewell:
    """Says that the training is over; the silo forgets its session's secrets."""


@dataclass(frozen=True, slots=True)
class Present:
    """Answers `Hello`."""

    silo: str


@dataclass(frozen=True, slots=True)
class Joined:
    """The silo takes part: its first message of secure aggregation.

    ``seeded`` says that it rehearses with noise that anyone with the seed can remove.
    """

    silo: str
    seeded: bool
    advertisement: bytes


@dataclass(frozen=True, slots=True)
class Replied:
    """The silo's next message of secure aggregation; empty if it has none to send."""

    message: bytes


@dataclass(frozen=True, slots=True)
class Refused:
    """The silo does not do what was asked. ``reason`` is one line that is safe to show."""

    silo: str
    code: str
    reason: str


Request = Hello | Propose | Begin | Deliver | Farewell
Reply = Present | Joined | Replied | Refused

_KINDS: dict[str, type[Request | Reply]] = {
    kind.__name__: kind
    for kind in (Hello, Propose, Begin, Deliver, Farewell, Present, Joined, Replied, Refused)
}


def encode(message: Request | Reply) -> bytes:
    """Returns the byte form of a message.

    Example:
        >>> decode(encode(Replied(b"sum"))) == Replied(b"sum")
        True
    """
    header, body = _parts(message)
    return b"".join((_MAGIC, len(header).to_bytes(_LENGTH_BYTES, "little"), header, *body))


def _parts(message: Request | Reply) -> tuple[bytes, list[bytes]]:
    """Returns the header and the byte strings that follow it."""
    small: dict[str, object] = {"kind": type(message).__name__}
    sizes: dict[str, int | list[int]] = {}
    body: list[bytes] = []
    for field in dataclasses.fields(message):
        value = getattr(message, field.name)
        if isinstance(value, bytes):
            sizes[field.name] = len(value)
            body.append(value)
        elif isinstance(value, tuple):
            sizes[field.name] = [len(item) for item in value]
            body.extend(value)
        else:
            small[field.name] = value
    return json.dumps({**small, "sizes": sizes}, separators=(",", ":")).encode(), body


def decode(data: bytes) -> Request | Reply:
    """Reads a message.

    Raises:
        PeerProtocolError: code ``malformed``, for anything that `encode` did not write.
    """
    start = len(_MAGIC) + _LENGTH_BYTES
    length = int.from_bytes(data[len(_MAGIC) : start], "little")
    if data[: len(_MAGIC)] != _MAGIC or not 0 < length <= _MAX_HEADER or len(data) < start + length:
        raise _malformed("must start with a header of this version")
    try:
        header = read_json(data[start : start + length])
        kind = _KINDS[header.pop("kind")]
        values, end = _byte_strings(header.pop("sizes"), data, start + length)
        message: Request | Reply = cast("Callable[..., Request | Reply]", kind)(**header, **values)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _malformed("must have a known kind and its fields") from None
    if end != len(data) or not _well_typed(message):
        raise _malformed("must hold fields of the right types and nothing else")
    # One value has many forms in JSON: a key that is there twice, spaces, UTF-16.
    if _parts(message)[0] != data[start : start + length]:
        raise _malformed("must have the one header that its fields give")
    return message


def _byte_strings(
    sizes: dict[str, int | list[int]], data: bytes, start: int
) -> tuple[dict[str, bytes | tuple[bytes, ...]], int]:
    """Cuts the byte strings that follow the header."""
    values: dict[str, bytes | tuple[bytes, ...]] = {}
    for name, size in sizes.items():
        parts = []
        for length in [size] if isinstance(size, int) else size:
            if not 0 <= length <= len(data) - start:
                raise ValueError(name)
            parts.append(data[start : start + length])
            start += length
        values[name] = parts[0] if isinstance(size, int) else tuple(parts)
    return values, start


def _well_typed(message: Request | Reply) -> bool:
    """Says whether every field has the type that its class declares."""
    types = {"int": int, "str": str, "bytes": bytes, "bool": bool, "tuple[bytes, ...]": tuple}
    return all(
        type(getattr(message, field.name)) is types[str(field.type)] for field in dataclasses.fields(message)
    )


def _malformed(what: str) -> PeerProtocolError:
    return PeerProtocolError(_MALFORMED, f"a request or reply {what}; it does not.")
