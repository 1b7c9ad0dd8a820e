"""The table of clipped-update."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from discreet.kinds.contract import LocalSection
from discreet.kinds.fields import Count, Momentum, NonNegative, Positive
from discreet.kinds.sampling import SamplingConfig, independent_share
from discreet.privacy.units import Unit


class ClippedUpdateConfig(LocalSection):
    """Any local optimiser, the whole update clipped (theory §2.2, DP-FedAvg); client unit."""

    unit: ClassVar[Unit] = Unit.CLIENT
    sources: ClassVar[tuple[str, ...]] = ("mcmahan2018",)

    kind: Literal["clipped-update"]
    learning_rate: Positive
    batch_size: Count = 32
    epochs: Count = 1
    momentum: Momentum = 0.0
    weight_decay: NonNegative = 0.0
    project_steps: bool = False

    def describe(self) -> str:
        """Says in one line what a silo computes in a round."""
        return (
            f"clipped-update: {self.epochs} epochs of batches of {self.batch_size}, "
            f"learning rate {self.learning_rate:g}, the whole update clipped"
        )

    def normaliser(
        self,
        sampling: SamplingConfig,
        capacities: Mapping[str, int],
        survivors: tuple[str, ...],  # noqa: ARG002 - a client's presence is what the guarantee hides
    ) -> float:
        """Returns the expected number of sampled clients of the plan, whoever survived."""
        return independent_share(sampling, self.kind) * len(capacities)
