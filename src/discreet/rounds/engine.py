"""What a round needs from the outside: an engine that turns an order into a secure sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from discreet.rounds.phases import SumSeconds


@dataclass(frozen=True, slots=True)
class RoundOrder:
    """What the server asks of every silo.

    Attributes:
        release: number of the charged release, from 1.
        sequence: place of its intent in the ledger, among the lines of rounds, or of evaluations; never used
            twice for one of the two, so it names the release's randomness.
        parameters: the public weights that the round starts from, and behind them its clipping norm if that
            follows a quantile; as long as what travels back, shape ``(plan.grid.dimension,)``. The weights
            alone for an evaluation.
    """

    release: int
    sequence: int
    parameters: npt.NDArray[np.float64]


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
        ...
