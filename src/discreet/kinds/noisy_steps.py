r"""Noisy-steps: integer noise in every local step, one weighted integer at the end; record unit.

Theory §2.5. This is Algorithm 2 of Heikkilä (2025) and the local training of private federated learning with
local DP. Two claims can be made for it, of different standing: see `NoisySteps.noise_sharing`.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import AfterValidator, Field

from discreet.arrays import Floats
from discreet.encoding import Grid, Rotation, StepWeights, from_ring, planned_weights
from discreet.kinds.contract import LocalSection, LocalTraining, require_known
from discreet.kinds.fields import Momentum, Positive
from discreet.kinds.float_error import ROWS_ALIKE, require_norm, require_summable, with_slack
from discreet.kinds.footprint import SHARED, NoiseSharing
from discreet.kinds.persons import PersonWeights, records_of, require_computable
from discreet.kinds.sampling import UNKNOWN_BATCH, ExpectedBatch
from discreet.kinds.setting import SiloSetting
from discreet.kinds.styles import FLAT, ClippingStyle
from discreet.privacy.events import Sampling
from discreet.sampling import Poisson

MOST_STEPS = 2500
"""Weights of more steps have ever more digits under momentum; whoever reads a plan works them out."""

MOST_DECIMALS = 6
"""Of the momentum, for the same reason: every step's weight has as many digits more."""


def _of_few_decimals(momentum: float) -> float:
    if round(momentum, MOST_DECIMALS) != momentum:
        raise ValueError(f"it must have at most {MOST_DECIMALS} decimals")
    return momentum


INDEPENDENT_LOCAL_STATE = "independent-local-state"
ASSUMPTION = (
    "the gradients of later local steps do not depend on the silo's own unreleased state; ordinary training "
    "does not satisfy this, and the claim is false for constructed data, and for logistic regression "
    "where one silo is much smaller than the others"
)


class NoisyStepsConfig(LocalSection):
    """Noise in every local step (theory §2.5); record unit.

    Several steps are proven at each silo's own noise. The published claim that the silos' noise adds up is
    CONDITIONAL: put "independent-local-state" into ``privacy.accept_assumptions`` to calibrate to it. The
    learning rate is per record: steps follow the sum over a batch.

    Attributes:
        learning_rate: per record: steps follow the sum over a batch.
        steps: of a round, each with noise of its own.
        momentum: of the local steps; 0 is none.
        style: how gradients are shortened to the clipping norm.
    """

    sources: ClassVar[tuple[str, ...]] = ("abadi2016", "heikkila2025")
    noise_inside: ClassVar[bool] = True

    kind: Literal["noisy-steps"]
    learning_rate: Positive
    steps: Annotated[int, Field(ge=1, le=MOST_STEPS)]
    momentum: Annotated[Momentum, AfterValidator(_of_few_decimals)] = 0.0
    style: ClippingStyle = FLAT

    def require_layers(self, layers: int) -> None:
        """Refuses a style that is for another number of layers."""
        self.style.require_layers(layers)

    def describe(self) -> str:
        """Says in one line what a silo computes in a round."""
        return (
            f"noisy-steps: {self.steps} steps at learning rate {self.learning_rate:g}, "
            f"momentum {self.momentum:g}, noise in every step"
        )

    @property
    def rates(self) -> tuple[Fraction, ...]:
        """Learning rate of each step: exactly the decimal number that the user wrote."""
        return (Fraction(str(self.learning_rate)),) * self.steps

    def step_weights(self) -> StepWeights:
        """Returns the integer weight of each step in a silo's message."""
        return planned_weights(self.rates, Fraction(str(self.momentum)))

    def planned(self, setting: SiloSetting) -> NoisySteps:
        """Returns the training of a silo."""
        require_summable(records_of(setting.persons, setting.capacity))
        require_computable(setting.persons, written_out=setting.linear and self.style == FLAT)
        return NoisySteps(
            clip_norm=setting.clip_norm,
            rates=self.rates,
            momentum=Fraction(str(self.momentum)),
            sampling_prob=setting.share,
            batch_bound=setting.batch_bound,
            style=self.style,
            expected=setting.expected,
            persons=setting.persons,
            weight_unit=setting.weight_unit,
        )


@dataclass(frozen=True, slots=True)
class NoisySteps(LocalTraining):
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
        batch_bound: public size that a step's batch almost never exceeds; the sum is projected onto what so
            many records can reach.
        persons: how a person's gradients count; as for single-step.
        weight_unit: of the weights in the message, which silos share; left out, that of these steps alone.

    Raises:
        ConfigurationError: if a number is out of range, or the rates have no small common unit.
    """

    clip_norm: float
    rates: tuple[Fraction, ...]
    momentum: Fraction = Fraction(0)
    sampling_prob: float = 1.0
    style: ClippingStyle = FLAT
    expected: ExpectedBatch = UNKNOWN_BATCH
    batch_bound: float = math.inf
    persons: PersonWeights | None = None
    weight_unit: Fraction | None = None

    def __post_init__(self) -> None:
        require_norm(self.clip_norm, "clip_norm", "NoisySteps")
        Poisson(self.sampling_prob)
        self.step_weights()

    @property
    def assumptions(self) -> tuple[str, ...]:
        """`ROWS_ALIKE`: gradients are computed in float32, many records at a time."""
        return (ROWS_ALIKE,)

    def step_weights(self) -> StepWeights:
        """The integer weight of each step in the message."""
        own = planned_weights(self.rates, self.momentum)
        return own if self.weight_unit is None else own.in_units_of(self.weight_unit)

    def decoded(self, total: npt.NDArray[np.uint64], grid: Grid, rotation: Rotation | None = None) -> Floats:
        """Returns the move that the sum of weighted steps makes; each coordinate is rounded once."""
        del rotation
        return self.step_weights().move(from_ring(total, grid.bits), grid.scale)

    def l2_sensitivity(self) -> float:
        """How far one sampled record moves the gradient sum of one step, L2, real units."""
        return with_slack(self.clip_norm)

    def update_bound(self, record_capacity: int) -> float:
        """What the records of one step's batch can reach together, L2, real units."""
        return self.l2_sensitivity() * min(float(record_capacity), self.batch_bound)

    @property
    def releases(self) -> int:
        """One for each step."""
        return len(self.rates)

    @property
    def weight(self) -> int:
        """How many times one step's integers count in the message, at most."""
        return self.step_weights().total

    def noise_sharing(self, accepted: Collection[str]) -> NoiseSharing:
        """Says how far the noise of several silos may be added up.

        Several noisy local steps are proven at the silo's own noise only (theory §1); the published claim
        for the sum is used when its assumption is accepted by name.

        Raises:
            UnsupportedAnalysisError: for an accepted assumption that does not exist here.
        """
        several = self.releases > 1
        require_known(accepted, known=(INDEPENDENT_LOCAL_STATE,) if several else ())
        if not several:
            return SHARED
        if INDEPENDENT_LOCAL_STATE in accepted:
            return NoiseSharing(adds_up=True, assumptions=(ASSUMPTION,))
        return NoiseSharing(adds_up=False)

    def release_sampling(self) -> Sampling:
        """How records enter each step."""
        return Poisson(self.sampling_prob).event()
