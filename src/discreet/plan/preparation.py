"""What is asked of the training records before the first round, and what follows: a contract for all kinds.

A kind is a table of the config (`discreet.kinds.preparation`), a `Preparation` in a file of its own, and a
line in `discreet.plan.prepared`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.accounting import calibrate
from discreet.arrays import Float32s, Floats
from discreet.config import Config
from discreet.data.record_map import RecordMap
from discreet.errors import ConfigurationError
from discreet.plan.facts import FederationFacts
from discreet.privacy.events import GaussianNoise, Release

_SMALLEST, _LARGEST = 1e-3, 1e6


@dataclass(frozen=True, slots=True)
class BlockSum:
    """What a question was answered.

    Attributes:
        values: the noisy sum of what records add to it, where each adds a vector of norm 1 at most.
        variance: of the noise of each value.
    """

    values: Floats
    variance: float


@dataclass(frozen=True, slots=True)
class Preparation(ABC):
    """One way to prepare records by one release before the first round, which asks questions.

    Guarantee:
        `record_map` is one of its family for any values at all: `RecordMap` holds of it whatever a server
        announces. `require` refuses values that no release leads to, by public numbers alone.

    Attributes:
        config: of the training.
        facts: of the training; the shape of features is that of records as they are read.
    """

    config: Config
    facts: FederationFacts

    @property
    def norm_bound(self) -> float:
        """R, the public bound on the length of a record.

        Raises:
            ConfigurationError: if there is none.
        """
        if self.facts.feature_norm_bound is None:
            raise ConfigurationError("'data.feature_norm_bound' must be known to a preparation; got none.")
        return self.facts.feature_norm_bound

    @property
    @abstractmethod
    def map_shape(self) -> tuple[int, int]:
        """The shape of the values that silos are told."""

    @abstractmethod
    def require_suitable(self) -> None:
        """Refuses records that it cannot prepare, before anything else is worked out.

        Raises:
            ConfigurationError: naming the key.
        """

    @abstractmethod
    def questions(self, noise: Callable[[int], float], units: int) -> Sequence[dict[str, Any]]:
        """Returns the tables ``[[ask]]`` of the release.

        Args:
            noise: deviation of the noise of an answer, of a sum of all silos, by the number of questions that
                share it.
            units: public bound on how many there are.
        """

    @abstractmethod
    def asked_features(self, features: Float32s) -> Float32s:
        """Returns features as the release asks them, of features as they are read; row by row."""

    @abstractmethod
    def found(self, sums: Sequence[BlockSum]) -> Floats:
        """Returns what silos are told, of shape `map_shape`, by the answers: post-processing."""

    @abstractmethod
    def require(self, values: Floats) -> None:
        """Refuses values of shape `map_shape` that no release leads to.

        Raises:
            PrivacyViolation: saying what they must be.
        """

    @abstractmethod
    def record_map(self, values: Floats | None) -> RecordMap | None:
        """Returns the map of announced values, and without any the public one; None for records as they are.

        Raises:
            ValueError: for another shape.
        """

    def in_rounds(self, config: Config, values: Floats) -> Config:  # noqa: ARG002 - most map records alone
        """Returns the config of rounds under announced values."""
        return config

    @abstractmethod
    def describe(self, answers: int) -> str:
        """Says in words what is done by how many numbers of a sum."""


def whole_multiplier(config: Config) -> float:
    """Returns the noise multiplier at which one release would spend the whole budget of a config.

    Raises:
        ConfigurationError: if it states no target.
    """
    if config.privacy.epsilon is None:
        stated = config.preparation
        raise ConfigurationError(
            f"'privacy.epsilon' must be given with {'a preparation' if stated is None else stated.path}, "
            "which gets a share of it; got a noise multiplier."
        )
    return calibrate(
        lambda z: Release(GaussianNoise(z), 1.0, dimension=1),
        epsilon=config.privacy.epsilon,
        delta=config.privacy.delta,
        lower=_SMALLEST,
        upper=_LARGEST,
    )


def remaining(config: Config) -> float:
    """Returns which part of μ² is left for the training: all of it where nothing is prepared."""
    stated = config.preparation
    return 1.0 if stated is None else 1.0 - stated.share
