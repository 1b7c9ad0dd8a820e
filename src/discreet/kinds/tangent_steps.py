"""Tangent-steps: many local steps of any network's linearisation (theory §2.7); record unit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from discreet.errors import ConfigurationError
from discreet.kinds.capped import Capped, capped
from discreet.kinds.convex_steps import ConvexSteps, ConvexStepsSection
from discreet.kinds.float_error import ROWS_ALIKE
from discreet.kinds.heads import BinaryLogistic, Softmax
from discreet.kinds.sampling import ExpectedBatch
from discreet.kinds.setting import SiloSetting
from discreet.kinds.weighted import unweighted, weighted


class TangentStepsConfig(ConvexStepsSection):
    """Several local steps of any network's linearisation, sensitivity γL (theory §2.7); record unit.

    ``privacy.clip_norm`` bounds how far a record's logits may move apart when the weights move by one.
    """

    title: ClassVar[str] = "tangent-steps"

    kind: Literal["tangent-steps"]

    def describe(self) -> str:
        """Says in one line what a silo computes in a round."""
        return f"{super().describe()}, on the network's linearisation at the round's public model"

    def planned(self, setting: SiloSetting) -> TangentSteps:
        """Returns the training of a silo."""
        if self.steps == "each":
            raise ConfigurationError(
                "'training.local.steps' must be a number for tangent-steps; got 'each', which is for "
                "stable-steps. Give records_per_step = 1 for many short steps."
            )
        loss = weighted(capped(setting.head, self.residual_cap), self.class_weights)
        return TangentSteps(
            loss=loss,
            norm_bound=setting.clip_norm,
            learning_rate=self.learning_rate,
            steps=self.step_count(setting.capacity),
            record_capacity=setting.capacity,
            sampling_prob=setting.share,
            passes=self.passes,
            projection_radius=self.largest_move(setting, loss.lipschitz(setting.clip_norm)),
            guard_prob=setting.guard_prob,
            persons=setting.persons,
        )


@dataclass(frozen=True, slots=True)
class TangentSteps(ConvexSteps):
    r"""Gradient steps on disjoint random batches for the network's tangent at the public model θ.

    A record's logits are taken to be f(θ) + a·J·Δ, with J the Jacobian at θ and a = min(1, C/spread) for the
    record's own spread: the largest distance between two rows of J, over √2 (for one output, the row's norm).
    Step s moves Δ by -γ·Σ_batch ∇loss; the update is where Δ ends, having begun at 0. ``norm_bound`` is C,
    and the loss is that on the outputs of the model, perhaps capped.

    Guarantee:
        That of `ConvexSteps`, for any network: the loss is convex in Δ, with the L and β of a linear head on
        features of norm C (docs/theory/steps.md, tangent-steps).

    Raises:
        ConfigurationError: as `ConvexSteps`, or if the loss is neither binary logistic nor softmax, capped or
            weighted or neither: only differences of logits may count, which is all that the spread bounds.
    """

    name: ClassVar[str] = "tangent-steps"

    def __post_init__(self) -> None:
        bare = unweighted(self.loss)
        head = bare.head if isinstance(bare, Capped) else bare
        if not isinstance(head, BinaryLogistic | Softmax):
            raise ConfigurationError(
                "The 'loss' of tangent-steps must be binary logistic or softmax, capped and weighted or not; "
                f"got {type(head).__name__}. Use stable-steps for a linear head, or single-step."
            )
        ConvexSteps.__post_init__(self)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """`ROWS_ALIKE`: logits and their gradients are computed in float32, many records at a time."""
        return (ROWS_ALIKE,)

    @property
    def expected(self) -> ExpectedBatch:
        """The law of how many records enter a round, of a silo that is full."""
        mean = self.sampling_prob * self.record_capacity
        return ExpectedBatch(mean, math.sqrt(mean * (1.0 - self.sampling_prob)))
