"""The arithmetic of noisy-steps: each clipped sum is rounded and gets its noise before it moves the model."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from torch import nn

from discreet.arrays import Floats, Integers
from discreet.data.records import Records
from discreet.encoding import Grid, encode
from discreet.kinds.float_error import project
from discreet.kinds.noisy_steps import NoisySteps
from discreet.learning.clipping.clipped_sum import clipped_gradient_sum
from discreet.learning.units import units_of
from discreet.mechanisms import add_share
from discreet.privacy.events import IntegerNoise
from discreet.randomness import RandomSource
from discreet.sampling import Poisson


@dataclass(frozen=True, slots=True)
class StepNoise:
    """How one local step becomes integers: the grid of one step and the law of the planned sum."""

    grid: Grid
    law: IntegerNoise


@dataclass(frozen=True, slots=True, repr=False)
class NoisyUpdate:
    """What a silo sends: Σ_s W_s q_s in grid units, noise included, shape ``(d,)``; the rest is private.

    ``encoding_seconds`` is the wall time of rounding and noise, in all steps.
    """

    combined: Integers
    loss: float
    batch: int
    encoding_seconds: float

    def __repr__(self) -> str:
        return "NoisyUpdate(<private>)"


def noisy_update(
    kind: NoisySteps,
    model: nn.Module,
    parameters: Floats,
    records: Records,
    randomness: RandomSource,
    *,
    noise: StepNoise,
) -> NoisyUpdate:
    """Runs the steps; each gradient sum is rounded and gets its noise before it moves the local model."""
    place, velocity = parameters.copy(), np.zeros_like(parameters)
    steps: list[Integers] = []
    loss, batch, encoding_seconds = 0.0, 0, 0.0
    for rate in kind.rates:
        released, step_loss, size, seconds = _step(kind, model, place, records, randomness, noise=noise)
        steps.append(released)
        velocity = float(kind.momentum) * velocity + released / noise.grid.scale
        place = place - float(rate) * velocity
        loss, batch, encoding_seconds = loss + step_loss, batch + size, encoding_seconds + seconds
    return NoisyUpdate(kind.step_weights().combine(steps), loss / max(1, batch), batch, encoding_seconds)


def _step(
    kind: NoisySteps,
    model: nn.Module,
    place: Floats,
    records: Records,
    randomness: RandomSource,
    *,
    noise: StepNoise,
) -> tuple[Integers, float, int, float]:
    """One noisy integer gradient sum, the batch's summed loss and size, and the seconds of encoding."""
    units = units_of(records, kind.persons)
    chosen = Poisson(kind.sampling_prob).draw(units.count, randomness)
    total = clipped_gradient_sum(
        model,
        place,
        records.take(units.rows(chosen)),
        persons=units.owners(chosen),
        clip_norm=kind.clip_norm,
        style=kind.style,
        randomness=randomness,
        expected=kind.expected,
    )
    began = time.monotonic()
    bounded = project(total.vector, noise.grid.silo_bound)
    released = encode(bounded, noise.grid, randomness)
    add_share(released, noise.law, randomness)
    return released, total.loss, len(chosen), time.monotonic() - began
