"""One silo's part in one round: train, round to integers, add its share of noise. Masking comes after."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from discreet.data import Records
from discreet.encoding import Rotation, noisy_integers
from discreet.errors import DataError
from discreet.kinds import SiloTraining
from discreet.learning import LocalUpdate, NoisyUpdate, StepNoise, silo_update
from discreet.learning.alike import require_rows_alike
from discreet.plan import Plan
from discreet.randomness import RandomSource, SeededRandom
from discreet.rounds.phases import Stopwatch

_Source = TypeVar("_Source", bound=RandomSource)


@dataclass(frozen=True, slots=True)
class Contribution:
    """What a silo hands to secure aggregation, and what it keeps to itself.

    Attributes:
        values: noisy integers, shape ``(dimension,)``, grid units; protected by the silo's own share of
            noise only, so they leave the silo masked.
        loss: mean training loss before the round; private, shown in simulations only. None where nothing is
            trained.
        training_seconds: wall time of local training.
        encoding_seconds: wall time of rounding and noise.
    """

    values: npt.NDArray[np.int64]
    loss: float | None
    training_seconds: float
    encoding_seconds: float


def contribute(
    plan: Plan,
    silo: str,
    release: int,
    *,
    model: nn.Module,
    parameters: npt.NDArray[np.float64],
    records: Records,
    randomness: RandomSource,
    rotation: Rotation | None = None,
    weight: float = 1.0,
    told: npt.NDArray[np.float64] | None = None,
) -> Contribution:
    """Computes the contribution of ``silo`` to a release that starts from ``parameters``, see `Start`.

    What a preparation told silos, ``told``, is in ``records`` already, as far as it maps these.

    Guarantee:
        Adding or removing one unit moves the integers, before noise, by at most
        ``plan.grid.l2_sensitivity`` in L2, but for the failure probabilities that the plan counts in δ.

    Raises:
        DataError: if the silo holds more records than the plan's public capacity.
        PrivacyViolation: if a run-time check of a promised bound fails; nothing leaves the silo.
    """
    require_capacity(plan, silo, records)
    watch = Stopwatch()
    update = train_silo(
        plan,
        silo,
        release,
        model=model,
        parameters=parameters,
        records=records,
        randomness=randomness,
        told=told,
    )
    trained = watch.lap()
    if isinstance(update, NoisyUpdate):
        encoding_seconds = update.encoding_seconds
        return Contribution(update.combined, update.loss, trained - encoding_seconds, encoding_seconds)
    stage = plan.at(release)
    return encoded(stage, update, randomness, rotation, weight=weight, training_seconds=trained)


def encoded(
    plan: Plan,
    update: LocalUpdate,
    randomness: RandomSource,
    rotation: Rotation | None,
    *,
    weight: float = 1.0,
    training_seconds: float,
) -> Contribution:
    """Rounds an update and adds the share of noise, both from the source that `contribute` is given.

    ``plan`` is that of the release, `Plan.at`.

    The update, and not the noise, is scaled by ``weight``, at most 1: a power of 1/2, which is exact.
    """
    watch = Stopwatch()
    values = noisy_integers(
        update.vector if weight == 1.0 else weight * update.vector,
        plan.grid,
        plan.release.share,
        randomness,
        rotation,
        # As many threads as training may use; the draws do not depend on how many there are.
        workers=torch.get_num_threads(),
    )
    return Contribution(values, update.loss, training_seconds, watch.lap())


def silo_source(randomness: _Source, sequence: int, silo: str) -> _Source:
    """Returns the source of all that ``silo`` draws in the round whose intent is ledger line ``sequence``."""
    return randomness.derive("release", sequence, "silo", silo)


def part_source(plan: Plan, release: int, randomness: _Source) -> _Source:
    """Returns the source of all that silos draw in the part of the plan that a release is of.

    Rounds draw the same from a seed, whether there are other parts or not.
    """
    part = plan.order.part_of(release)
    return randomness if part is None else randomness.derive(part)


def train_silo(
    plan: Plan,
    silo: str,
    release: int,
    *,
    model: nn.Module,
    parameters: npt.NDArray[np.float64],
    records: Records,
    randomness: RandomSource,
    told: npt.NDArray[np.float64] | None = None,
) -> LocalUpdate | NoisyUpdate:
    """Trains ``silo`` as `contribute` does; the update has no noise yet, but for that of noisy steps.

    Raises:
        PrivacyViolation: if a run-time check of a promised bound fails.
    """
    training, weights = round_training(plan, silo, release, parameters, told)
    stage = plan.stage_of(release)
    noise = StepNoise(stage.grid, stage.release.share)
    return silo_update(training, model, weights, records, randomness.derive("training"), noise=noise)


def round_training(
    plan: Plan,
    silo: str,
    release: int,
    announced: npt.NDArray[np.float64],
    told: npt.NDArray[np.float64] | None = None,
) -> tuple[SiloTraining, npt.NDArray[np.float64]]:
    """Returns what ``silo`` runs in a release that starts from `RoundOrder.parameters`, and the weights.

    ``told`` is `RoundOrder.prepared`.

    Raises:
        PrivacyViolation: for a clipping norm at which no bound would hold.
    """
    return plan.under(told).silo_training(silo, release).starting_from(announced)


def require_rows_alike_for(plan: Plan, model: nn.Module, silos: Iterable[str]) -> None:
    """Measures, before a training begins, what the plan's guarantees assume about this machine's kernels.

    In the shapes of every segment: kernels may be right for a short batch and wrong for a long one.

    Raises:
        PrivacyRefusal: if the assumption does not hold.
    """
    trainings = [plan.silo_training(silo, release) for silo in silos for release in plan.order.beginnings]
    require_rows_alike(trainings, model, plan.model_shape)


def round_rotation(plan: Plan, sequence: int) -> Rotation | None:
    """Returns the public rotation of the round whose intent is line ``sequence`` of the ledger, if any.

    Every party derives the same one from the plan; it hides nothing and only spreads updates evenly.
    """
    if not plan.grid.rotated:
        return None
    public = SeededRandom(bytes.fromhex(plan.digest())).derive("rotation", sequence)
    return Rotation.drawn(plan.grid.dimension, public)


def require_capacity(plan: Plan, silo: str, records: Records) -> None:
    """Checks that records fit what the plan publicly promises; those that `discreet.data` loads always do.

    Raises:
        DataError: without saying how many there are.
    """
    capacity, person = plan.capacities[plan.facts.silos.index(silo)], plan.data.person
    units, what = len(records), "records that 'data.record_capacity' promises"
    if person is not None and records.persons is not None:
        units, what = len(np.unique(records.persons)), "persons that 'data.person.capacity' promises"
    if units > capacity:
        raise DataError(
            f"{silo} must hold at most the {capacity} training {what}; it holds more. Raise the capacity and "
            "plan again."
        )
