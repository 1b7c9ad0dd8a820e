"""Projecting onto directions of a private PCA: what is asked, what follows, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import Float32s, Floats
from discreet.data.projection import FARTHEST_CENTER, Projection, hashed
from discreet.errors import ConfigurationError, PrivacyViolation
from discreet.kinds.blocks import MOST_PROJECTED
from discreet.plan.preparation import BlockSum, Preparation
from discreet.statistics.projection import directions

_TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True)
class Projecting(Preparation):
    """The second moments of records; then records are projected onto their leading directions."""

    @property
    def map_shape(self) -> tuple[int, int]:
        """A direction in every row, and where its centre is in the last column."""
        stated = self.config.data.project
        return 1 if stated is None else stated.components, self.facts.feature_shape[0]

    def require_suitable(self) -> None:
        """Refuses records of any length, without a constant, or of too few or too many features."""
        data, shape = self.config.data, self.facts.feature_shape
        if self.facts.feature_norm_bound is None or len(shape) != 1:
            raise ConfigurationError(
                "'data.project' must be for records that are scaled to a norm and end with a constant: rows "
                "of a table, arrays with 'data.feature_norm_bound', or features of a map for linear heads; "
                f"got records of shape {shape} and {self._length_text()}."
            )
        if data.makes_own_records:
            raise ConfigurationError(
                "'data.project' must be for records that end with a constant, as those of files, arrays and "
                f"bundled sources do; got a function, {data.source!r}. Write its records to a file."
            )
        components, features = self.map_shape
        if not components < features - 1:
            raise ConfigurationError(
                f"'data.project.components' must be less than the {features - 1} features of a record; got "
                f"{components}. Use fewer, or leave 'data.project' out."
            )
        if not features <= MOST_PROJECTED:
            raise ConfigurationError(
                f"'data.project' must be for at most {MOST_PROJECTED} features, whose second moments are one "
                f"sum of d(d + 1)/2 numbers; got {features:,}. Use a feature map (data.transform), or name "
                "fewer columns."
            )

    def questions(self, noise: Callable[[int], float], units: int) -> Sequence[dict[str, Any]]:  # noqa: ARG002
        """Returns the second moments of records."""
        features, bound = self.facts.feature_shape[0], self.norm_bound
        return [{"kind": "second-moments", "features": features, "norm_bound": bound}]

    def asked_features(self, features: Float32s) -> Float32s:
        """Returns features as they are."""
        return features

    def found(self, sums: Sequence[BlockSum]) -> Floats:
        """Returns directions and centres."""
        (moments,) = sums
        return directions(moments.values, moments.variance, shape=self.map_shape, farthest=FARTHEST_CENTER)

    def require(self, values: Floats) -> None:
        """Refuses what is no number, too far away, or not orthonormal."""
        rows = values[:, :-1]
        # NaN is at most nothing.
        if not bool((np.abs(values) <= FARTHEST_CENTER).all() and (np.abs(rows) <= 1.0 + _TOLERANCE).all()):
            raise PrivacyViolation(
                "what records are projected by must be finite, of length 1, and with centres up to "
                f"{FARTHEST_CENTER:g}; it is not."
            )
        apart = float(np.abs(rows @ rows.T - np.eye(len(rows))).max())
        if not apart <= _TOLERANCE:
            raise PrivacyViolation(
                f"what records are projected by must be orthonormal up to {_TOLERANCE:g}; got {apart:.3g}."
            )

    def record_map(self, values: Floats | None) -> Projection:
        """Returns the projection of announced values; without any, one that knows nothing of records."""
        told = hashed(self.map_shape) if values is None else values
        return Projection.announced(told, shape=self.map_shape, norm_bound=self.norm_bound)

    def describe(self, answers: int) -> str:
        """Says onto how many directions records are projected."""
        components, features = self.map_shape
        return f"project {features - 1} features onto {components} directions, by {answers:,} second moments"

    def _length_text(self) -> str:
        bound = self.facts.feature_norm_bound
        return "any length" if bound is None else f"length {bound:g}"
