"""The table of sharded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from discreet.kinds.contract import LocalSection
from discreet.kinds.fields import Count, Momentum, NonNegative, Positive
from discreet.kinds.sampling import SamplingConfig, independent_share


class ShardedConfig(LocalSection):
    """Records in random shards; each trains alone, its whole update is clipped (theory §2.3); record unit."""

    sources: ClassVar[tuple[str, ...]] = ("mcmahan2018", "balle2018")

    kind: Literal["sharded"]
    num_shards: Count
    learning_rate: Positive
    batch_size: Count = 32
    epochs: Count = 1
    momentum: Momentum = 0.0
    weight_decay: NonNegative = 0.0

    def describe(self) -> str:
        """Says in one line what a silo computes in a round."""
        return (
            f"sharded: {self.num_shards} random shards a silo, each {self.epochs} epochs of batches of "
            f"{self.batch_size} at learning rate {self.learning_rate:g}, its update clipped"
        )

    def normaliser(
        self,
        sampling: SamplingConfig,
        capacities: Mapping[str, int],  # noqa: ARG002 - one contract for all kinds
        survivors: tuple[str, ...],
    ) -> float:
        """Returns the expected number of sampled shards of the survivors."""
        return independent_share(sampling, self.kind) * self.num_shards * len(survivors)
