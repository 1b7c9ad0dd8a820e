"""Questions: one sum of bounded vectors; counts, tables, moments and curves follow from it (theory §10)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.errors import ConfigurationError
from discreet.kinds.blocks import AskedBlock
from discreet.kinds.contract import LocalSection, LocalTraining
from discreet.kinds.float_error import require_summable, with_slack
from discreet.kinds.persons import PersonWeights, records_of
from discreet.kinds.sampling import NoSamplingConfig, SamplingConfig
from discreet.kinds.setting import SiloSetting
from discreet.privacy.events import Sampling
from discreet.sampling import EVERY_ONE

ANSWERS = "answers"
"""What the model of a config with questions is called: the released sums, and nothing that predicts."""


class QuestionsConfig(LocalSection):
    """One sum of bounded vectors that answers the questions of ``[[ask]]``; record and person unit."""

    sources: ClassVar[tuple[str, ...]] = ()

    kind: Literal["questions"]

    def describe(self) -> str:
        """Says in one line what a silo computes in a round."""
        return "questions: one bounded vector of each record, added up"

    def planned(self, setting: SiloSetting) -> Asked:
        """Returns what a silo adds up."""
        if setting.asked is None:
            raise ConfigurationError("'ask' must hold at least one question where questions are asked.")
        if setting.norm is not None or not isinstance(setting.sampling, NoSamplingConfig):
            raise ConfigurationError(
                "'privacy.clip_norm' and 'training.sampling' must be left out where questions are asked: "
                "every record is in the sum once, and its vector is bounded already."
            )
        return Asked(setting.asked, setting.persons)

    def normaliser(
        self,
        sampling: SamplingConfig,  # noqa: ARG002 - one contract for all kinds
        capacities: Mapping[str, int],  # noqa: ARG002
        survivors: tuple[str, ...],  # noqa: ARG002
    ) -> float:
        """Returns 1: answers are made from the sum itself."""
        return 1.0


@dataclass(frozen=True, slots=True)
class Asked(LocalTraining):
    """The sum of what each record adds to all questions, side by side.

    Guarantee:
        Each block of a record is at most as long as its factor (`discreet.kinds.blocks`), so adding or
        removing one moves the sum by the norm of all factors. A person's records have weights that sum to at
        most 1, and the ball is convex, so that a person moves it no further.

    Attributes:
        blocks: one for each question, in order.
        persons: how a person's records count; None where each record is by itself.
    """

    blocks: tuple[AskedBlock, ...]
    persons: PersonWeights | None = None

    @property
    def dimension(self) -> int:
        """How many numbers are summed."""
        return sum(one.block.size for one in self.blocks)

    @property
    def _longest(self) -> float:
        """How long a record's vector may be; the factors of real numbers are 1 together but for rounding."""
        return max(1.0, math.sqrt(math.fsum(one.factor**2 for one in self.blocks)))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """None."""
        return ()

    def l2_sensitivity(self) -> float:
        """The norm of all factors, enlarged for floating-point error."""
        return with_slack(self._longest)

    def update_bound(self, record_capacity: int) -> float:
        """Every unit adds a vector that is no longer than the factors are together.

        Raises:
            ConfigurationError: if there may be too many records for their sum to be exact enough.
        """
        require_summable(records_of(self.persons, record_capacity))
        return with_slack(self._longest * record_capacity)

    def release_sampling(self) -> Sampling:
        """Every unit takes part."""
        return EVERY_ONE.event()

    def weights(self, persons: Integers | None, count: int) -> Floats | None:
        """Returns how much each of ``count`` records counts, shape ``(n,)``; None where each counts as 1."""
        if self.persons is None:
            return None
        if persons is None:
            raise TypeError("Records must say whose they are where persons are asked.")
        if not count:
            return np.zeros(0)
        _, place, counts = np.unique(persons, return_inverse=True, return_counts=True)
        return self.persons.of(counts.astype(np.int64))[place]
