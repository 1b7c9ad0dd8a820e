"""What a round needs from the outside: an engine that turns an order into a secure sum."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from discreet.rounds.phases import SumSeconds


@dataclass(frozen=True, slots=True)
class Start:
    """What one silo starts from in a round.

    Attributes:
        parameters: the public weights, shape ``(plan.grid.dimension,)``.
        weight: factor on its update, 1 or a power of 1/2.
    """

    parameters: npt.NDArray[np.float64]
    weight: float = 1.0

    def digest(self) -> bytes:
        """Returns SHA-256 of the weights."""
        return hashlib.sha256(self.parameters.astype("<f8", copy=False).tobytes()).digest()


def context_of(starts: Mapping[str, tuple[bytes, float]]) -> bytes:
    """Returns the digest of what every silo of a sum starts from: `Start.digest` and `Start.weight`."""
    whole = hashlib.sha256()
    for silo, (digest, weight) in sorted(starts.items()):
        whole.update(hashlib.sha256(silo.encode()).digest() + digest + weight.hex().encode())
    return whole.digest()


@dataclass(frozen=True, slots=True)
class RoundOrder:
    """What the server asks of the silos.

    Attributes:
        release: number of the charged release, from 1.
        sequence: place of its intent in the ledger, among the lines of rounds, or of evaluations; never used
            twice for one of the two, so it names the release's randomness.
        parameters: the public weights that the round starts from, and behind them its clipping norm if that
            follows a quantile; as long as what travels back, shape ``(plan.grid.dimension,)``. The weights
            alone for an evaluation.
        starts: who is asked, and what each starts from, where a timetable says so; None if every silo is
            asked and starts from ``parameters``.
        prepared: the values of the public map that records are used under; None for records as they are read.
    """

    release: int
    sequence: int
    parameters: npt.NDArray[np.float64]
    starts: Mapping[str, Start] | None = None
    prepared: npt.NDArray[np.float64] | None = None

    def start_of(self, silo: str) -> Start:
        """Returns what ``silo`` starts from, which must be asked."""
        return Start(self.parameters) if self.starts is None else self.starts[silo]

    def asked(self, silos: Iterable[str]) -> tuple[str, ...]:
        """Returns those of ``silos`` that the round asks, in their order."""
        return tuple(silo for silo in silos if self.starts is None or silo in self.starts)

    def announced(self) -> bytes:
        """Returns what everybody is told where all start alike: the parameters, and behind them the map."""
        prepared = () if self.prepared is None else self.prepared.ravel()
        return np.concatenate([self.parameters, prepared]).astype("<f8", copy=False).tobytes()

    def context(self) -> bytes:
        """Returns the digest that masks are bound to: of everything that anybody starts from."""
        if self.starts is None:
            return hashlib.sha256(self.announced()).digest()
        digests = {id(one.parameters): one.digest() for one in self.starts.values()}
        return context_of(
            {silo: (digests[id(one.parameters)], one.weight) for silo, one in self.starts.items()}
        )


@dataclass(frozen=True, slots=True)
class RoundSum:
    """What secure aggregation returned.

    Attributes:
        total: sum of the survivors' integers modulo 2^bits, shape ``(dimension,)``.
        survivors: silos whose contributions, and noise, are in it.
        transcript: digest of the protocol run.
        bytes_per_silo: bytes that one silo sent, the largest of them.
        training_loss: mean loss over the silos before the round; simulations only, None elsewhere.
        seconds: where the time went; simulations only, None elsewhere.
    """

    total: npt.NDArray[np.uint64]
    survivors: tuple[str, ...]
    transcript: bytes
    bytes_per_silo: int
    training_loss: float | None
    seconds: SumSeconds | None = None


class Engine(Protocol):
    """Moves messages between the server and the silos."""

    def sum_round(self, order: RoundOrder) -> RoundSum:
        """Runs one round.

        Raises:
            UnmaskingIncomplete: if unmasking began but gave no sum; the round stays charged.
            NotEnoughSurvivors: if it was stopped before any share left a silo; the round is not charged.
            DiscreetError: for anything else that stops it; the round stays charged.
        """
