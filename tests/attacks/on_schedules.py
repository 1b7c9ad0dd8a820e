"""Attacks by time: models that arrive while a silo computes a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from torch import nn

from discreet.audit.neighbours import Rounds
from discreet.config import Config, parse_config
from discreet.data import Records
from discreet.errors import ConfigurationError
from discreet.learning.clipping import ClippedSum
from tests.attacks.outcome import Outcome
from tests.contracts.neighbours.worlds import OWN, planned

INTERRUPTS = (0, 1, 2, 3)
EVERY = 10
"""Records that are computed from one model to the next."""
CLIP_NORM = 0.01

ARRIVING: list[npt.NDArray[np.float64]] = []
"""The models that reach the silo while it computes, one after every so many records."""


def interruptible(on_model: str) -> Config:
    """Returns the config of silos that send Poisson batches by themselves, and what arriving models do."""
    return parse_config(
        {
            "data": {"source": "npz:unset.npz", "record_capacity": 60},
            "model": {"name": f"{OWN}:distance"},
            "training": {
                "rounds": 1,
                "local": {"kind": "single-step"},
                "sampling": {"kind": "poisson", "probability": 0.999},
                "schedule": {"kind": "local", "on_model": on_model},
            },
            "privacy": {"epsilon": 4.0, "delta": 1e-5, "clip_norm": CLIP_NORM},
        },
        source="attack",
    )  # fmt: skip


def crafted(interrupts: int) -> tuple[Records, list[npt.NDArray[np.float64]]]:
    """Returns records and models: the last record before each model lies between that and the one before."""
    models = np.arange(interrupts + 1.0)
    records = np.full(EVERY * (interrupts + 1), interrupts + 1.0)
    for number in range(1, interrupts + 1):
        records[EVERY * number - 1] = number - 0.5
    own = Records(records[:, None].astype(np.float32), np.zeros(len(records), np.int64))
    return own, [np.array([model, 0.0]) for model in models]


def before_all(records: Records) -> Records:
    """Adds a record before all others, which are computed one place later."""
    first = np.full_like(records.features[:1], -1.0)
    features, labels = np.concatenate([first, records.features]), np.append(records.labels, 0)
    return replace(records, features=features, labels=labels)


def interrupt_in_a_batch() -> Outcome:
    """A silo's neighbours compute a batch while models arrive, one after every ten records."""
    moved = []
    for interrupts in INTERRUPTS:
        records, models = crafted(interrupts)
        rounds = planned(interruptible("latest"), (1,), 2, None)
        ARRIVING[:] = models[1:]
        moved.append(_moved(rounds, records, models[0]))
    ARRIVING.clear()
    offered = False
    with suppress(ConfigurationError):
        interruptible("interrupt")
        offered = True
    now = f"moves by {', '.join(f'{one:.3g}' for one in moved)} of the claim; " + (
        "a config may ask for it" if offered else "no config may ask for it"
    )
    return Outcome(
        "P4: 0 to 3 models arrive within a Poisson batch",
        "(1 + 2I) C: 1, 3, 5, 7 of the claim",
        now,
        offered or max(moved) > 1.001,
    )


def _moved(rounds: Rounds, records: Records, start: npt.NDArray[np.float64]) -> float:
    """Returns how far the neighbours lie apart, over the claim; the farthest of a few draws of the batch."""
    added = before_all(records)
    return max(rounds.compare(added, records, parameters=start, seed=seed).moved for seed in range(4))


def at_once(
    honest: Callable[..., ClippedSum],
) -> Callable[..., ClippedSum]:
    """Returns the fault: a sum of clipped gradients whose model is overwritten by whatever arrives."""

    def interrupted(
        model: nn.Module, parameters: npt.NDArray[np.float64], records: Records, **rest: object
    ) -> ClippedSum:
        models: Sequence[npt.NDArray[np.float64]] = [parameters, *ARRIVING]
        total = None
        for number, own in enumerate(models):
            last = number == len(models) - 1
            rows = np.arange(
                EVERY * number, len(records) if last else min(len(records), EVERY * (number + 1))
            )
            part = honest(model, own, records.take(rows), **{**rest, "persons": None})
            total = part if total is None else ClippedSum(
                total.vector + part.vector, total.loss + part.loss, total.within + part.within
            )  # fmt: skip
        assert total is not None
        return total

    return interrupted


ATTACKS = (interrupt_in_a_batch,)
