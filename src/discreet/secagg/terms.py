"""What the parties agree on, and what a round gives: plain values without behaviour of their own."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated

import numpy as np
import numpy.typing as npt

from discreet.errors import ConfigurationError, LocalProtocolError
from discreet.secagg.codes import AbortCode
from discreet.secagg.ring import MAX_BITS, MIN_BITS
from discreet.secagg.wire import MAX_CLIENTS, U32, Record, counted, fixed_list, sized, uint

ClientId = str

DIGEST_BYTES = 32
Digest = Annotated[bytes, sized(DIGEST_BYTES)]
MIN_CLIENTS = 3
MAX_EPOCHS = 1 << 32
# A packed vector then has fewer than 2^32 bytes at any number of bits.
MAX_LENGTH = 1 << 29


class Stage(Enum):
    """The points of a round; a client that drops out at one disappears before its message of that stage."""

    ADVERTISE = 0
    SHARE = 1
    MASK = 2
    CONFIRM = 3
    UNMASK = 4

    @property
    def keeps_input(self) -> bool:
        """Says whether a client that drops out here is still part of the sum."""
        return self.value > Stage.MASK.value


@dataclass(frozen=True, slots=True)
class SumTerms:
    """What all parties agree on for a whole training run, before any key is made.

    Attributes:
        session: 32 bytes, unique for the run.
        clients: everyone who may take part; the order numbers them.
        threshold: how many holders of shares recover a secret.
        min_survivors: clients refuse to unmask a sum of fewer inputs (the noise floor).
        max_colluding: how many clients may conspire with the server.
        bits: the ring is the integers modulo ``2^bits``.
        length: number of coordinates.
        context: 32-byte digest that binds the plan and the model architecture.
    """

    session: bytes
    clients: tuple[ClientId, ...]
    threshold: int
    min_survivors: int
    max_colluding: int
    bits: int
    length: int
    context: bytes

    def __post_init__(self) -> None:
        _require_digest("session", self.session)
        _require_digest("context", self.context)
        n = len(self.clients)
        if not MIN_CLIENTS <= n <= MAX_CLIENTS:
            raise ConfigurationError(
                f"clients must be {MIN_CLIENTS} to {MAX_CLIENTS}; got {n}. "
                "A sum of two hides nothing from either."
            )
        if len(set(self.clients)) != n or not all(self.clients):
            raise ConfigurationError(
                "clients must be distinct, non-empty names; got a repeated or empty one."
            )
        _require_range("threshold", self.threshold, 2, n)
        _require_range("min_survivors", self.min_survivors, 2, n)
        _require_range("max_colluding", self.max_colluding, 0, n - 1)
        _require_range("bits", self.bits, MIN_BITS, MAX_BITS)
        _require_range("length", self.length, 1, MAX_LENGTH)

    @property
    def digest(self) -> bytes:
        """The hash that stands for these terms in signatures and keys."""
        numbers = (self.threshold, self.min_survivors, self.max_colluding, self.bits, self.length)
        body = self.session + self.context + fixed_list([uint(number, 8) for number in numbers])
        names = b"".join(counted(client.encode()) for client in self.clients)
        return hashlib.sha256(b"discreet/secagg/v1/terms" + body + names).digest()


def check_epoch(epoch: int) -> None:
    """Refuses the number of a setup that has no encoding.

    Raises:
        LocalProtocolError: code ``malformed``, for what is no integer of four bytes.
    """
    if not (type(epoch) is int and 0 <= epoch < MAX_EPOCHS):
        raise LocalProtocolError(
            AbortCode.MALFORMED, f"an epoch must be an integer in [0, {MAX_EPOCHS}); got another value."
        )


@dataclass(frozen=True, slots=True)
class RoundTerms(Record):
    """One use of the session: which round, which attempt at it, and the digest of its public model."""

    round_index: U32
    attempt: U32
    context: Digest

    def __post_init__(self) -> None:
        _require_range("round_index", self.round_index, 0, (1 << 32) - 1)
        _require_range("attempt", self.attempt, 0, (1 << 32) - 1)
        _require_digest("context", self.context)


@dataclass(frozen=True, slots=True)
class SumOutcome:
    """The exact sum of the survivors' inputs.

    Attributes:
        total: values in ``[0, 2^bits)``, shape ``(length,)``.
        survivors: whose inputs are in the sum, in the order of the terms.
        transcript: hash of the terms, the keys, the round and the survivors; equal for all honest parties.
        bytes_per_client: most bytes that one client sent and received for this round, setup included.
    """

    total: npt.NDArray[np.uint64]
    survivors: tuple[ClientId, ...]
    transcript: bytes
    bytes_per_client: int


def positions(clients: Sequence[ClientId]) -> dict[ClientId, int]:
    """Maps every client to its number in the terms."""
    return {client: index for index, client in enumerate(clients)}


def _require_digest(name: str, value: bytes) -> None:
    """Refuses anything but 32 bytes."""
    if not len(value) == DIGEST_BYTES:
        raise ConfigurationError(f"{name} must be {DIGEST_BYTES} bytes; got {len(value)}.")


def _require_range(name: str, value: int, low: int, high: int) -> None:
    """Refuses integers outside ``[low, high]``, and NaN."""
    if not low <= value <= high:
        raise ConfigurationError(f"{name} must be an integer in [{low}, {high}]; got {value!r}.")
