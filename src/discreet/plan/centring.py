"""Centring whole records by their mean: what is asked, what follows, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import Float32s, Floats
from discreet.data.projection import Projection
from discreet.errors import ConfigurationError, PrivacyViolation
from discreet.plan.preparation import BlockSum, Preparation
from discreet.statistics.projection import middle

_TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True)
class Centring(Preparation):
    """The mean of records, which is then taken off every one."""

    @property
    def key(self) -> str:
        """What states it, as messages name it."""
        stated = self.config.data.preparation
        return "'data'" if stated is None else f"'data.{stated.key}'"

    @property
    def map_shape(self) -> tuple[int, int]:
        """The mean of every feature but the constant."""
        return 1, self.facts.feature_shape[0] - 1

    def require_suitable(self) -> None:
        """Refuses records of any length, or that need not end with a constant."""
        data, shape, bound = self.config.data, self.facts.feature_shape, self.facts.feature_norm_bound
        if bound is None or len(shape) != 1 or shape[0] < 2:
            length = "any length" if bound is None else f"length {bound:g}"
            raise ConfigurationError(
                f"{self.key} must be for records that are scaled to a norm and end with a constant: rows of "
                "a table, arrays with 'data.feature_norm_bound', or features of a map for linear heads; got "
                f"records of shape {shape} and {length}."
            )
        if data.makes_own_records:
            raise ConfigurationError(
                f"{self.key} must be for records that end with a constant, as those of files, arrays and "
                f"bundled sources do; got a function, {data.source!r}. Write its records to a file."
            )

    def questions(self, noise: Callable[[int], float], units: int) -> Sequence[dict[str, Any]]:  # noqa: ARG002
        """Returns the first moments of records."""
        return [self._moments("first-moments")]

    def asked_features(self, features: Float32s) -> Float32s:
        """Returns features as they are."""
        return features

    def found(self, sums: Sequence[BlockSum]) -> Floats:
        """Returns the middle of records."""
        return middle(sums[0].values, sums[0].variance)[None, :]

    def require(self, values: Floats) -> None:
        """Refuses what is no number, or farther away than records are."""
        # NaN is at most nothing.
        if not (np.abs(values).max() <= 1.0 and np.linalg.norm(values) <= 1.0 + _TOLERANCE):
            raise PrivacyViolation("what records are centred by must be finite, and at most as long as they.")

    def record_map(self, values: Floats | None) -> Projection | None:
        """Returns centring by announced values; records are as they are without any."""
        if values is None:
            return None
        return Projection.announced(values, self.norm_bound, shape=self.map_shape, project=False)

    def describe(self, answers: int) -> str:  # noqa: ARG002 - one contract for all kinds
        """Says how many features are centred."""
        return f"centre {self.map_shape[1]} features, by their means"

    def _moments(self, kind: str) -> dict[str, Any]:
        return {"kind": kind, "features": self.facts.feature_shape[0], "norm_bound": self.norm_bound}
