"""One place where a kind of local training meets its arithmetic."""

from __future__ import annotations

from dataclasses import replace

from torch import nn

from discreet.arrays import Floats
from discreet.data.records import Records
from discreet.kinds import (
    Asked,
    ClippedUpdate,
    NoisySteps,
    OneRelease,
    QuantileClipped,
    Sharded,
    SiloTraining,
    SingleStep,
    StableSteps,
    TangentSteps,
)
from discreet.learning.clipped_update import client_update
from discreet.learning.noisy_steps import NoisyUpdate, StepNoise, noisy_update
from discreet.learning.quantile_clipped import joined
from discreet.learning.sharded import sharded_update
from discreet.learning.single_step import single_step_update
from discreet.learning.stable_steps import stable_update
from discreet.learning.tangent_steps import tangent_update
from discreet.learning.updates import CountedUpdate, LocalUpdate
from discreet.randomness import RandomSource
from discreet.statistics.contribution import asked_vector


def local_update(
    training: OneRelease, model: nn.Module, parameters: Floats, records: Records, randomness: RandomSource
) -> LocalUpdate:
    """Trains from ``parameters``, shape ``(d,)``, on ``records``.

    Guarantee:
        That of `LocalTraining`: one sampled unit moves the vector by at most ``training.l2_sensitivity()``.
        It has one coordinate more than ``parameters`` where the clipping norm follows a quantile.

    Args:
        training: the kind, and its numbers.
        model: the architecture; scratch space, whose weights afterwards are unspecified.
        parameters: where training starts.
        records: the silo's, or the client's.
        randomness: all coins.

    Raises:
        ConfigurationError: if the model lacks what this kind needs.
        PrivacyViolation: if a run-time check of the promised bound fails.
    """
    match training:
        case SingleStep() | ClippedUpdate():
            return counted_update(training, model, parameters, records, randomness).update
        case QuantileClipped(kind=kind):
            return joined(training, counted_update(kind, model, parameters, records, randomness))
        case Sharded():
            return sharded_update(training, model, parameters, records, randomness)
        case StableSteps():
            update = stable_update(training.in_weights(), model, parameters, records, randomness)
            return _in_units(update, training.unit_length)
        case TangentSteps():
            update = tangent_update(training.in_weights(), model, parameters, records, randomness)
            return _in_units(update, training.unit_length)
        case Asked():
            summed = asked_vector(training, records.features, records.labels, records.persons)
            return LocalUpdate(summed, None, len(records))


def silo_update(
    training: SiloTraining,
    model: nn.Module,
    parameters: Floats,
    records: Records,
    randomness: RandomSource,
    *,
    noise: StepNoise,
) -> LocalUpdate | NoisyUpdate:
    """Trains any kind as `local_update` does; ``noise`` is for those that add it in every step."""
    if isinstance(training, NoisySteps):
        return noisy_update(training, model, parameters, records, randomness, noise=noise)
    return local_update(training, model, parameters, records, randomness)


def _in_units(update: LocalUpdate, length: float) -> LocalUpdate:
    """Returns an update as it travels where the rate decays, one rounding longer."""
    return update if length == 1.0 else replace(update, vector=update.vector / length)


def counted_update(
    kind: SingleStep | ClippedUpdate,
    model: nn.Module,
    parameters: Floats,
    records: Records,
    randomness: RandomSource,
) -> CountedUpdate:
    """Returns the update of `local_update`, and how many of its units were within the clipping norm."""
    match kind:
        case SingleStep():
            return single_step_update(kind, model, parameters, records, randomness)
        case ClippedUpdate():
            return client_update(kind, model, parameters, records, randomness)
