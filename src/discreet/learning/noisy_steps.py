r"""Noisy-steps: integer noise in every local step, one weighted integer at the end; record unit.

Theory §2.5. This is Algorithm 2 of Heikkilä (2025) and the local training of private federated learning with
local DP. Two claims can be made for it, of different standing: see `discreet.plan.footprint.noise_sharing`.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from torch import nn

from discreet.arrays import Floats, Integers
from discreet.data.records import Records
from discreet.encoding import Grid, StepWeights, encode, planned_weights
from discreet.errors import ConfigurationError
from discreet.learning.clipping.clipped_sum import clipped_gradient_sum
from discreet.learning.clipping.shapes import UNKNOWN_BATCH, ExpectedBatch
from discreet.learning.clipping.styles import FLAT, ClippingStyle
from discreet.learning.float_error import ROWS_ALIKE, project, with_slack
from discreet.mechanisms import add_share
from discreet.privacy.events import IntegerNoise, Sampling
from discreet.privacy.units import Unit
from discreet.randomness import RandomSource
from discreet.sampling import Poisson

INDEPENDENT_LOCAL_STATE = "independent-local-state"
ASSUMPTION = (
    "the gradients of later local steps do not depend on the silo's own unreleased state; ordinary training "
    "does not satisfy this, and for constructed data the claim is false"
)


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


@dataclass(frozen=True, slots=True)
class NoisySteps:
    """Local DP-SGD with heavy-ball momentum, whose steps sum up to one exact integer.

    Only optimisers that are linear with coefficients common to all silos have a sum that secure aggregation
    can form, so rates and momentum are rational numbers and nothing adaptive (Adam, AdaGrad) is offered.

    Attributes:
        clip_norm: largest L2 norm of one record's gradient, real units.
        rates: learning rate of each local step, on the scale of the gradient *sum*.
        momentum: local momentum, starting at zero every round.
        sampling_prob: probability that a record enters a step.
        style: how gradients are brought into the ball.
        expected: public guess of the size of a step's batch, which only the time depends on.

    Raises:
        ConfigurationError: if a number is out of range, or the rates have no small common unit.
    """

    unit: ClassVar[Unit] = Unit.RECORD

    clip_norm: float
    rates: tuple[Fraction, ...]
    momentum: Fraction = Fraction(0)
    sampling_prob: float = 1.0
    style: ClippingStyle = FLAT
    expected: ExpectedBatch = UNKNOWN_BATCH

    def __post_init__(self) -> None:
        if not (self.clip_norm > 0 and math.isfinite(self.clip_norm)):
            raise ConfigurationError(f"'clip_norm' of NoisySteps must be positive; got {self.clip_norm}.")
        Poisson(self.sampling_prob)
        self.weights()

    @property
    def assumptions(self) -> tuple[str, ...]:
        """`ROWS_ALIKE`: gradients are computed in float32, many records at a time."""
        return (ROWS_ALIKE,)

    def weights(self) -> StepWeights:
        """The integer weight of each step in the message."""
        return planned_weights(self.rates, self.momentum)

    def step_sensitivity(self) -> float:
        """How far one sampled record moves the gradient sum of one step, L2, real units."""
        return with_slack(self.clip_norm)

    def release_sampling(self) -> Sampling:
        """How records enter each step."""
        return Poisson(self.sampling_prob).event()

    def update(
        self,
        model: nn.Module,
        parameters: Floats,
        records: Records,
        noise: StepNoise,
        randomness: RandomSource,
    ) -> NoisyUpdate:
        """Runs the steps; each gradient sum is rounded and gets its noise before it moves the local model."""
        place, velocity = parameters.copy(), np.zeros_like(parameters)
        steps: list[Integers] = []
        loss, batch, encoding_seconds = 0.0, 0, 0.0
        for rate in self.rates:
            released, step_loss, size, seconds = self._step(model, place, records, noise, randomness)
            steps.append(released)
            velocity = float(self.momentum) * velocity + released / noise.grid.scale
            place = place - float(rate) * velocity
            loss, batch, encoding_seconds = loss + step_loss, batch + size, encoding_seconds + seconds
        return NoisyUpdate(self.weights().combine(steps), loss / max(1, batch), batch, encoding_seconds)

    def _step(
        self,
        model: nn.Module,
        place: Floats,
        records: Records,
        noise: StepNoise,
        randomness: RandomSource,
    ) -> tuple[Integers, float, int, float]:
        """One noisy integer gradient sum, the batch's summed loss and size, and the seconds of encoding."""
        chosen = Poisson(self.sampling_prob).draw(len(records), randomness)
        total = clipped_gradient_sum(
            model,
            place,
            records.take(chosen),
            clip_norm=self.clip_norm,
            style=self.style,
            randomness=randomness,
            expected=self.expected,
        )
        began = time.monotonic()
        bounded = project(total.vector, noise.grid.silo_bound)
        released = encode(bounded, noise.grid, randomness)
        add_share(released, noise.law, randomness)
        return released, total.loss, len(chosen), time.monotonic() - began
