"""The table of single-step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from discreet.kinds.contract import LocalSection
from discreet.kinds.sampling import SamplingConfig
from discreet.kinds.styles import FlatStyle, StyleConfig


class SingleStepConfig(LocalSection):
    """One sum of clipped per-record gradients a round (theory §2.1); record unit."""

    sources: ClassVar[tuple[str, ...]] = ("abadi2016",)

    kind: Literal["single-step"]
    style: StyleConfig = FlatStyle()

    def describe(self) -> str:
        """Says in one line what a silo computes in a round."""
        return "single-step: one sum of clipped gradients"

    def normaliser(
        self, sampling: SamplingConfig, capacities: Mapping[str, int], survivors: tuple[str, ...]
    ) -> float:
        """Returns the expected number of sampled records if every survivor were full."""
        return sum(sampling.expected(capacities[silo]) for silo in survivors)
