"""What a worker does: it keeps some silos for a whole training and computes their part of every round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from discreet.data import Records
from discreet.engines.local.device import torch_device
from discreet.plan import Plan
from discreet.plan.public_model import public_model
from discreet.randomness import RandomSource, SecureRandom, SeededRandom
from discreet.rounds import Contribution, RoundOrder, contributions
from discreet.rounds.preparing import RecordsInUse


@dataclass(frozen=True, slots=True, repr=False)
class Assignment:
    """One worker's inputs for the whole training.

    Attributes:
        plan: builds the model, like at a real silo.
        records: training records of the worker's silos, by name.
        seed: `RunConfig.seed`.
        device: `SpeedConfig.device`.
    """

    plan: Plan
    records: Mapping[str, Records]
    seed: int | None
    device: str


class Worker:
    """Trains the silos of one assignment, one after the other, with one model.

    Raises:
        ConfigurationError: if the model cannot be built as planned.
    """

    def __init__(self, assignment: Assignment) -> None:
        self._assignment = assignment
        self._records = RecordsInUse(assignment.plan, assignment.records)
        self._randomness = source_for(assignment.seed)
        self._model = public_model(assignment.plan).to(torch_device(assignment.device))

    def train(self, order: RoundOrder) -> dict[str, Contribution]:
        """Returns the contributions of all silos to one round."""
        return contributions(
            self._assignment.plan,
            self._records.under(order.prepared),
            order,
            model=self._model,
            randomness=self._randomness,
        )


def source_for(seed: int | None) -> RandomSource:
    """Returns the randomness of a run: from the operating system, or from the seed of a simulation."""
    return SecureRandom() if seed is None else SeededRandom(seed)
