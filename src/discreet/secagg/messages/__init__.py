"""The messages, one frozen class each, and their canonical bytes.

Every message has its ``TYPE`` and a ``body`` that follows from the annotations of its fields;
`discreet.secagg.codec` puts it behind a header. Clients are written as their number in the terms. Sizes that
the agreement fixes are checked by whoever reads the message, encodings here.
"""

from __future__ import annotations

from discreet.secagg.messages.from_clients import (
    Advertise,
    Confirm,
    MaskedInput,
    NeighborChoice,
    SealedShares,
    UnmaskShares,
)
from discreet.secagg.messages.from_server import (
    Choices,
    ConfirmSet,
    DeliveredShares,
    KeyList,
    KeyPaths,
    RoundStart,
    Shown,
    SurvivorSet,
)

ClientMessage = Advertise | NeighborChoice | SealedShares | MaskedInput | Confirm | UnmaskShares
ServerMessage = KeyList | KeyPaths | Choices | DeliveredShares | RoundStart | SurvivorSet | ConfirmSet
Message = ClientMessage | ServerMessage

__all__ = [
    "Advertise",
    "Choices",
    "ClientMessage",
    "Confirm",
    "ConfirmSet",
    "DeliveredShares",
    "KeyList",
    "KeyPaths",
    "MaskedInput",
    "Message",
    "NeighborChoice",
    "RoundStart",
    "SealedShares",
    "ServerMessage",
    "Shown",
    "SurvivorSet",
    "UnmaskShares",
]
