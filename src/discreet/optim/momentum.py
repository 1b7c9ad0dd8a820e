"""Averaging and heavy-ball momentum on the server."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats
from discreet.errors import ConfigurationError
from discreet.optim.schedules import CONSTANT, Schedule, require_rate


@dataclass(frozen=True, slots=True)
class RoundCount:
    """How many rounds a rule has stepped."""

    rounds: int = 0


@dataclass(frozen=True, slots=True)
class Averaging:
    """θ ← θ + η·factor(t)·mean: federated averaging with a server learning rate.

    Example:
        >>> rule = Averaging(0.5)
        >>> rule.step(rule.init(2), np.zeros(2), np.array([1.0, -2.0]))[1].tolist()
        [0.5, -1.0]
    """

    learning_rate: float = 1.0
    schedule: Schedule = CONSTANT

    def __post_init__(self) -> None:
        require_rate("Averaging", self.learning_rate)

    def init(self, dimension: int) -> RoundCount:  # noqa: ARG002 - one contract for all rules
        """Returns the round counter."""
        return RoundCount()

    def step(
        self, state: RoundCount, parameters: Floats, aggregate_mean: Floats
    ) -> tuple[RoundCount, Floats]:
        """Adds the scaled mean."""
        rate = self.learning_rate * self.schedule.factor(state.rounds)
        return RoundCount(state.rounds + 1), parameters + rate * aggregate_mean


@dataclass(frozen=True, slots=True)
class Velocity:
    """The running direction of `Momentum`, shape ``(d,)``, and the round number."""

    rounds: int
    velocity: Floats


@dataclass(frozen=True, slots=True)
class Momentum:
    """Heavy ball: v ← μ·v + mean, θ ← θ + η·factor(t)·v."""

    learning_rate: float = 1.0
    momentum: float = 0.9
    schedule: Schedule = CONSTANT

    def __post_init__(self) -> None:
        require_rate("Momentum", self.learning_rate)
        if not 0.0 <= self.momentum < 1.0:
            raise ConfigurationError(
                f"The 'momentum' parameter of Momentum must be in [0, 1); got {self.momentum}."
            )

    def init(self, dimension: int) -> Velocity:
        """Returns a velocity of zero."""
        return Velocity(0, np.zeros(dimension))

    def step(self, state: Velocity, parameters: Floats, aggregate_mean: Floats) -> tuple[Velocity, Floats]:
        """Updates the velocity, then follows it."""
        velocity = self.momentum * state.velocity + aggregate_mean
        rate = self.learning_rate * self.schedule.factor(state.rounds)
        return Velocity(state.rounds + 1, velocity), parameters + rate * velocity
