"""Stable-steps whose settings are left to the plan, which works them out from public numbers alone."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

from pydantic import Discriminator, Tag

from discreet.errors import ConfigurationError
from discreet.kinds.contract import LocalSection
from discreet.kinds.convex_steps import ConvexStepsSection
from discreet.kinds.fields import Probability
from discreet.kinds.setting import SiloSetting
from discreet.kinds.stable_steps import StableSteps, StableStepsConfig
from discreet.kinds.weighted import StatedWeights

AUTO: Final = "auto"


class UntunedStepsConfig(LocalSection):
    """Stable-steps without a learning rate: `discreet.plan.untuned` finds one, and the steps that allow it.

    A plan holds the `StableStepsConfig` that it leads to, never this table.

    Attributes:
        learning_rate: left to the plan.
        steps: left to the plan.
        residual_cap: the most that a record's residual counts; ``auto`` leaves it to the plan.
        class_weights: a public number for each class, or a table by which noisy counts give them.
    """

    sources: ClassVar[tuple[str, ...]] = ConvexStepsSection.sources
    steps_share_state: ClassVar[bool] = ConvexStepsSection.steps_share_state
    takes_own_loss: ClassVar[bool] = True

    kind: Literal["stable-steps"]
    learning_rate: Literal["auto"] = AUTO
    steps: Literal["auto"] = AUTO
    residual_cap: Probability | Literal["auto"] = AUTO
    class_weights: StatedWeights | None = None

    @property
    def weighs(self) -> StatedWeights | None:
        """The class weights, or the table by which noisy counts give them."""
        return self.class_weights

    def describe(self) -> str:
        """Says in one line what a silo computes in a round."""
        return "stable-steps: settings worked out by the plan, from public numbers"

    def planned(self, setting: SiloSetting) -> StableSteps:
        """Refuses: nothing can run before a plan has found the numbers."""
        raise ConfigurationError(
            f"'training.local.learning_rate' must be a number where {setting.kind} runs; got {AUTO!r}. "
            "Make a plan first."
        )


def _table(data: object) -> str:
    """Tells the two tables apart by whether they state a learning rate."""
    if isinstance(data, dict):
        return AUTO if data.get("learning_rate", AUTO) == AUTO else "tuned"
    return AUTO if isinstance(data, UntunedStepsConfig) else "tuned"


StableStepsTable = Annotated[
    Annotated[StableStepsConfig, Tag("tuned")] | Annotated[UntunedStepsConfig, Tag(AUTO)],
    Discriminator(_table),
]
