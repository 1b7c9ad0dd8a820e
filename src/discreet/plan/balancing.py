"""Class weights by noisy counts: what is asked, the weights that follow, and the rounds that they lead to."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import Float32s, Floats
from discreet.config import Config
from discreet.errors import ConfigurationError, PrivacyViolation
from discreet.kinds.preparation import ClassWeightsConfig
from discreet.kinds.variables import Label
from discreet.plan.asked import variables
from discreet.plan.preparation import BlockSum, Preparation

_CERTAIN = 2.0
"""A class is taken to have so many deviations of the noise at least."""


@dataclass(frozen=True, slots=True)
class Balancing(Preparation):
    """A count of every class; then the losses of its records weigh inversely to it.

    Records are used as they are. For any weights in (0, 1] a round is that of a training with these as public
    ones, whose sensitivity, batch guard and errors are those of weights of 1 (`discreet.kinds.weighted`).
    """

    @property
    def map_shape(self) -> tuple[int, int]:
        """A weight for every class."""
        return 1, self.facts.num_classes

    @property
    def most(self) -> float:
        """How many times as much as another a class may weigh."""
        return self._stated().most

    def require_suitable(self) -> None:
        """Refuses records without classes, and those whose classes no question can be about."""
        self._label()

    def questions(self, noise: Callable[[int], float], units: int) -> Sequence[dict[str, Any]]:  # noqa: ARG002
        """Returns a table of the label: one count for each class."""
        return [{"kind": "table", "of": [self._label().name]}]

    def asked_features(self, features: Float32s) -> Float32s:
        """Returns features as they are: labels alone are asked."""
        return features

    def found(self, sums: Sequence[BlockSum]) -> Floats:
        """Returns the least count over each class's, at least 1/most.

        Whoever has no label is in the last cell, which is left out.
        """
        (counted,) = sums
        least = max(1.0, _CERTAIN * math.sqrt(counted.variance))
        counts = np.maximum(counted.values[: self.facts.num_classes], least)
        weights: Floats = np.maximum(counts.min() / counts, 1.0 / self.most)[None, :]
        return weights

    def require(self, values: Floats) -> None:
        """Refuses weights outside [1/most, 1]."""
        # What is no number is in no range.
        if not bool(((1.0 / self.most <= values) & (values <= 1.0)).all()):
            raise PrivacyViolation(f"class weights must be in [{1.0 / self.most:g}, 1]; one is not.")

    def record_map(self, values: Floats | None) -> None:
        """Returns nothing: records are used as they are.

        Raises:
            ValueError: for values that are no weights.
        """
        if values is None:
            return
        if values.shape != self.map_shape:
            raise ValueError(f"{self.map_shape[1]} class weights; got an array of shape {values.shape}")
        try:
            self.require(values)
        except PrivacyViolation as error:
            raise ValueError(str(error)) from None

    def in_rounds(self, config: Config, values: Floats) -> Config:
        """Returns the config of rounds with these weights, as if they were public."""
        local = config.training.local
        if local.preparation is None:
            return config
        weights = tuple(float(weight) for weight in values.ravel())
        own = local.model_copy(update={"class_weights": weights})
        return config.model_copy(update={"training": config.training.model_copy(update={"local": own})})

    def describe(self, answers: int) -> str:
        """Says that classes are counted."""
        return f"weigh {answers - 1} classes inversely to their noisy counts, at most {self.most:g} to 1,"

    def _stated(self) -> ClassWeightsConfig:
        stated = self.config.preparation
        if not isinstance(stated, ClassWeightsConfig):
            raise TypeError("only a training whose class weights are private counts classes")
        return stated

    def _label(self) -> Label:
        """Returns the label as questions know it.

        Raises:
            ConfigurationError: if there is none of classes.
        """
        if self.config.data.several:
            raise ConfigurationError(
                f"{self._stated().path} must be left out where there are several labels; got "
                f"{self.config.data.several} labels."
            )
        data = self.config.data.model_copy(update={"asked": "training"})
        found = [one for one in variables(data).values() if isinstance(one, Label)]
        if len(found) != 1 or len(found[0].texts) != self.facts.num_classes:
            raise ConfigurationError(
                f"{self._stated().path} must be public where no label of stated classes is counted: of a "
                "table's column, or of arrays whose 'num_classes' is stated. Give a list of numbers."
            )
        return found[0]
