"""Projecting onto directions of a private PCA: what is asked, what follows, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import Floats
from discreet.data.projection import Projection, hashed
from discreet.errors import ConfigurationError, PrivacyViolation
from discreet.kinds.blocks import MOST_PROJECTED
from discreet.plan.centring import Centring
from discreet.plan.preparation import BlockSum
from discreet.statistics.projection import directions, middle, on_grid

_TOLERANCE = 1e-3
# Of the means beside the second moments, which are 1: they get a fifth of μ² of the release.
_WEIGHT = 1.0 / 16.0


@dataclass(frozen=True, slots=True)
class Projecting(Centring):
    """The mean of records and their second moments; then they are projected from that mean."""

    @property
    def map_shape(self) -> tuple[int, int]:
        """A direction in every row, and in the last column where the mean is along it."""
        stated = self.config.data.project
        return 1 if stated is None else stated.components, self.facts.feature_shape[0]

    def require_suitable(self) -> None:
        """Refuses what cannot be centred, and too few or too many features."""
        # A class with slots is made anew, and `super()` without arguments is of the one before.
        super(Projecting, self).require_suitable()
        components, features = self.map_shape
        if not components < features - 1:
            raise ConfigurationError(
                f"'data.project.components' must be less than the {features - 1} features of a record; got "
                f"{components}. Use fewer, or 'data.centre' to keep all."
            )
        if not features <= MOST_PROJECTED:
            raise ConfigurationError(
                f"'data.project' must be for at most {MOST_PROJECTED} features, whose second moments are one "
                f"sum of d(d + 1)/2 numbers; got {features:,}. Use a feature map (data.transform), name "
                "fewer columns, or use 'data.centre'."
            )

    def questions(self, noise: Callable[[int], float], units: int) -> Sequence[dict[str, Any]]:  # noqa: ARG002
        """Returns first and second moments of records."""
        return [self._moments("first-moments") | {"weight": _WEIGHT}, self._moments("second-moments")]

    def found(self, sums: Sequence[BlockSum]) -> Floats:
        """Returns directions, and where the middle of records is along each."""
        first, second = sums
        center = middle(first.values, first.variance)
        found = directions(second.values, center, math.sqrt(2.0) * float(first.values[-1]), self.map_shape[0])
        return np.column_stack([found, on_grid(found @ center)])

    def require(self, values: Floats) -> None:
        """Refuses what is no number, too far away, or not orthonormal."""
        if not bool((np.abs(values) <= 1.0 + _TOLERANCE).all()):
            raise PrivacyViolation("what records are projected by must be numbers in [-1, 1]; one is not.")
        rows = values[:, :-1]
        apart = float(np.abs(rows @ rows.T - np.eye(len(rows))).max())
        if not apart <= _TOLERANCE:
            raise PrivacyViolation(
                f"what records are projected by must be orthonormal up to {_TOLERANCE:g}; got {apart:.3g}."
            )

    def record_map(self, values: Floats | None) -> Projection:
        """Returns the projection of announced values; without any, one that knows nothing of records."""
        told = hashed(self.map_shape) if values is None else values
        return Projection.announced(told, self.norm_bound, shape=self.map_shape, project=True)

    def describe(self, answers: int) -> str:
        """Says onto how many directions records are projected."""
        components, features = self.map_shape
        return f"project {features - 1} features onto {components} directions, by {answers:,} moments"
