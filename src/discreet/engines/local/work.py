"""Messages between the local engine and a worker: silos to keep, rounds to train, contributions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from discreet.data import Records
from discreet.engines.local.frames import Frame
from discreet.plan import Plan
from discreet.plan.plan import parse_plan
from discreet.randomness import RandomSource, SecureRandom, SeededRandom
from discreet.rounds import Contribution, RoundOrder


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

    def to_frame(self) -> Frame:
        """Returns the message."""
        texts = {
            "plan": self.plan.document().decode(),
            "silos": json.dumps(list(self.records)),
            "seed": json.dumps(self.seed),
            "device": self.device,
        }
        arrays: dict[str, npt.NDArray[Any]] = {}
        for number, records in enumerate(self.records.values()):
            arrays[f"features.{number}"], arrays[f"labels.{number}"] = records.features, records.labels
        return Frame(texts, arrays)

    @classmethod
    def from_frame(cls, frame: Frame) -> Assignment:
        """Reads the message."""
        names: list[str] = json.loads(frame.texts["silos"])
        records = {
            name: Records(frame.arrays[f"features.{number}"], frame.arrays[f"labels.{number}"])
            for number, name in enumerate(names)
        }
        plan = parse_plan(frame.texts["plan"].encode())
        return cls(plan, records, json.loads(frame.texts["seed"]), frame.texts["device"])


def source_for(seed: int | None) -> RandomSource:
    """Returns the randomness of a run: from the operating system, or from the seed of a simulation."""
    return SecureRandom() if seed is None else SeededRandom(seed)


def order_frame(order: RoundOrder) -> Frame:
    """Returns the message that asks for one round."""
    numbers = {"release": str(order.release), "sequence": str(order.sequence)}
    return Frame(numbers, {"parameters": order.parameters})


def read_order(frame: Frame) -> RoundOrder:
    """Reads the message of `order_frame`."""
    release, sequence = int(frame.texts["release"]), int(frame.texts["sequence"])
    return RoundOrder(release, sequence, frame.arrays["parameters"])


def contributions_frame(contributions: Sequence[Contribution]) -> Frame:
    """Returns the answer to an order, in the order of the worker's silos."""
    return Frame(
        {
            str(number): json.dumps([found.loss, found.training_seconds, found.encoding_seconds])
            for number, found in enumerate(contributions)
        },
        {str(number): found.values for number, found in enumerate(contributions)},
    )


def read_contributions(frame: Frame) -> list[Contribution]:
    """Reads the message of `contributions_frame`."""
    return [
        Contribution(frame.arrays[number], *json.loads(numbers)) for number, numbers in frame.texts.items()
    ]
