"""The tables of stable-steps and tangent-steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, Self

from pydantic import model_validator

from discreet.kinds.contract import LocalSection
from discreet.kinds.fields import Count, NonNegative, Positive, Probability
from discreet.kinds.sampling import SamplingConfig


class _ConvexSteps(LocalSection):
    """Local steps whose number does not enter the sensitivity.

    Give ``steps``, or ``records_per_step`` so that larger silos take more steps. The learning rate is per
    record: steps follow the sum over a batch. ``residual_cap`` bounds how far the model's probability of a
    record's own class counts as too low; the sensitivity, and so the noise, is proportional to it. 1 caps
    nothing.
    """

    sources: ClassVar[tuple[str, ...]] = ("wu2017", "hardt2016")
    steps_share_state: ClassVar[bool] = True
    title: ClassVar[str]

    learning_rate: Positive
    steps: Count | None = None
    records_per_step: Count | None = None
    passes: Count = 1
    residual_cap: Probability = 1.0

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        if (self.steps is None) == (self.records_per_step is None):
            raise ValueError("exactly one of 'steps' and 'records_per_step' must be given")
        return self

    def step_count(self, capacity: int) -> int:
        """Returns how many steps a silo of at most ``capacity`` records takes in a pass."""
        if self.steps is not None:
            return self.steps
        return max(1, -(-capacity // (self.records_per_step or 1)))

    def describe(self) -> str:
        """Says in one line what a silo computes in a round."""
        steps = f"{self.steps}" if self.steps is not None else f"one for {self.records_per_step} records"
        return f"{self.title}: learning rate {self.learning_rate:g}, steps: {steps}, passes: {self.passes}"

    def normaliser(
        self,
        sampling: SamplingConfig,  # noqa: ARG002 - one contract for all kinds
        capacities: Mapping[str, int],  # noqa: ARG002
        survivors: tuple[str, ...],
    ) -> float:
        """Returns the number of survivors."""
        return float(len(survivors))


class StableStepsConfig(_ConvexSteps):
    """Several local steps of a convex model with sensitivity γL (theory §2.4); record unit."""

    title: ClassVar[str] = "stable-steps"

    kind: Literal["stable-steps"]
    l2_regulariser: NonNegative = 0.0

    def describe(self) -> str:
        """Says in one line what a silo computes in a round."""
        regularised = f"{super().describe()}, L2 regulariser {self.l2_regulariser:g}"
        return f"{regularised}, residual cap {self.residual_cap:g}"


class TangentStepsConfig(_ConvexSteps):
    """Several local steps of any network's linearisation, sensitivity γL (theory §2.7); record unit.

    ``privacy.clip_norm`` bounds how far a record's logits may move apart when the weights move by one.
    """

    title: ClassVar[str] = "tangent-steps"

    kind: Literal["tangent-steps"]

    def describe(self) -> str:
        """Says in one line what a silo computes in a round."""
        return f"{super().describe()}, on the network's linearisation at the round's public model"
