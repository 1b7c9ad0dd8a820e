"""Standardising by histograms: which columns are asked, what their answers lead to, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import Float32s, Floats
from discreet.data.standard import Place, Standard, unscaled
from discreet.errors import ConfigurationError, PrivacyViolation
from discreet.kinds.preparation import MOST_BINS
from discreet.kinds.questions import MOST_QUESTIONS
from discreet.kinds.variables import Number
from discreet.plan.asked import variables
from discreet.plan.preparation import BlockSum, Preparation
from discreet.statistics.standardise import centers_and_scales

_FEWEST_BINS = 8


@dataclass(frozen=True, slots=True)
class Standardising(Preparation):
    """A histogram of every number that the training reads; then numbers are centred and scaled."""

    @property
    def map_shape(self) -> tuple[int, int]:
        """Centres, then scales, of every number."""
        return 2, len(self._numbers())

    @property
    def floor(self) -> float:
        """The least scale."""
        stated = self.config.data.standardise
        return 1.0 if stated is None else stated.floor

    @property
    def places(self) -> tuple[Place, ...]:
        """Where features hold the numbers, in the order of questions."""
        return tuple(Place(number.place, number.missing) for number in self._numbers().values())

    def require_suitable(self) -> None:
        """Refuses records without numbers on public ranges, with too many, or of any length."""
        columns = self._numbers()
        if self.facts.feature_norm_bound is None or self.config.data.transform is not None:
            raise ConfigurationError(
                "'data.standardise' must be for the columns of a table, whose records are scaled to a norm; "
                f"got {self.config.data.transform or 'records of any length'}."
            )
        if len(columns) > MOST_QUESTIONS:
            raise ConfigurationError(
                f"'data.standardise' must be of at most {MOST_QUESTIONS} columns of 'ranges' and 'dates', "
                f"which share one noisy sum; got {len(columns):,}. Leave it out and state narrower ranges by "
                "public knowledge, or name fewer columns."
            )

    def questions(self, noise: Callable[[int], float], units: int) -> Sequence[dict[str, Any]]:
        """Returns a histogram of every number, of the more bins the more units there are for the noise."""
        columns = self._numbers()
        bins = max(_FEWEST_BINS, min(MOST_BINS, int(units / (2.0 * noise(len(columns))))))
        # Odd, so that no edge is in the middle of a range.
        bins = bins // 2 * 2 + 1
        return [{"kind": "table", "of": [name], "bins": {name: bins}} for name in columns]

    def asked_features(self, features: Float32s) -> Float32s:
        """Returns features with their numbers in public ranges."""
        return np.clip(unscaled(features), -1.0, 1.0).astype(np.float32)

    def found(self, sums: Sequence[BlockSum]) -> Floats:
        """Returns centres and scales."""
        counts = np.array([one.values for one in sums])
        return centers_and_scales(counts, sums[0].variance, floor=self.floor)

    def require(self, values: Floats) -> None:
        """Refuses what is no number, in no range, or below the floor."""
        center, scale = values
        # What is no number is in no range.
        if not bool((np.abs(center) <= 1.0).all() and ((self.floor <= scale) & (scale <= 1.0)).all()):
            raise PrivacyViolation(
                "what records are prepared by must be centres in [-1, 1] and scales in "
                f"[{self.floor:g}, 1]; one is not."
            )

    def record_map(self, values: Floats | None) -> Standard | None:
        """Returns centring and scaling by announced values; records are as they are without any."""
        if values is None:
            return None
        return Standard.announced(self.places, values, floor=self.floor, norm_bound=self.norm_bound)

    def describe(self, answers: int) -> str:
        """Says how many numbers are standardised, by how many bins."""
        columns = len(self._numbers())
        numbers = "a number" if columns == 1 else f"{columns} numbers"
        return f"standardise {numbers}, by histograms of {answers // columns - 1} bins"

    def _numbers(self) -> dict[str, Number]:
        """Returns the numbers of a table, by column, in the order of features.

        Raises:
            ConfigurationError: if there is none.
        """
        data = self.config.data.model_copy(update={"asked": "training"})
        found = {name: one for name, one in variables(data).items() if isinstance(one, Number)}
        if not found:
            raise ConfigurationError(
                "'data.standardise' must be with columns of 'ranges' or 'dates' that are not in 'bins', for "
                "it starts from public ranges; there is none."
            )
        return found
