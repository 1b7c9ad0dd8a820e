"""The table of noisy-steps."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar, Literal

from discreet.kinds.contract import LocalSection
from discreet.kinds.fields import Count, Momentum, Positive
from discreet.kinds.sampling import SamplingConfig
from discreet.kinds.styles import FlatStyle, StyleConfig


class NoisyStepsConfig(LocalSection):
    """Noise in every local step (theory §2.5); record unit.

    Several steps are proven at each silo's own noise. The published claim that the silos' noise adds up is
    CONDITIONAL: put "independent-local-state" into ``privacy.accept_assumptions`` to calibrate to it. The
    learning rate is per record: steps follow the sum over a batch.
    """

    sources: ClassVar[tuple[str, ...]] = ("abadi2016", "heikkila2025")

    kind: Literal["noisy-steps"]
    learning_rate: Positive
    steps: Count
    momentum: Momentum = 0.0
    style: StyleConfig = FlatStyle()

    @property
    def rates(self) -> tuple[Fraction, ...]:
        """The decimal number that the user wrote, exactly, once for each step."""
        return (Fraction(str(self.learning_rate)),) * self.steps

    @property
    def exact_momentum(self) -> Fraction:
        """The decimal number that the user wrote, exactly."""
        return Fraction(str(self.momentum))

    def describe(self) -> str:
        """Says in one line what a silo computes in a round."""
        return (
            f"noisy-steps: {self.steps} steps at learning rate {self.learning_rate:g}, "
            f"momentum {self.momentum:g}, noise in every step"
        )

    def normaliser(
        self,
        sampling: SamplingConfig,  # noqa: ARG002 - one contract for all kinds
        capacities: Mapping[str, int],  # noqa: ARG002
        survivors: tuple[str, ...],
    ) -> float:
        """Returns the number of survivors."""
        return float(len(survivors))
