"""Adaptive server rules: Adagrad, Adam and Yogi on the released means. Reddi et al. (2021), Algorithm 2."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from discreet.arrays import Floats
from discreet.errors import ConfigurationError
from discreet.optim.schedules import CONSTANT, Schedule, require_rate


class SecondMoment(Enum):
    """How the running second moment follows the squared mean."""

    ADAGRAD = "adagrad"
    ADAM = "adam"
    YOGI = "yogi"


@dataclass(frozen=True, slots=True)
class Moments:
    """Round number and running first and second moments, shape ``(d,)`` each."""

    rounds: int
    first: Floats
    second: Floats


@dataclass(frozen=True, slots=True)
class Adaptive:
    """θ ← θ + η·factor(t)·m/(√v + τ), m and v running moments of the mean.

    Noise in the mean raises v in every coordinate, so ``adaptivity`` should be of the size of the noise.

    Attributes:
        learning_rate: η.
        second_moment: which rule v follows.
        first_decay: β₁, how slowly m forgets.
        second_decay: β₂, how slowly v forgets; Adagrad never forgets.
        adaptivity: τ, added to √v; v starts at τ².
        schedule: public factor of each round.
    """

    learning_rate: float
    second_moment: SecondMoment = SecondMoment.ADAM
    first_decay: float = 0.9
    second_decay: float = 0.99
    adaptivity: float = 1e-3
    schedule: Schedule = CONSTANT

    def __post_init__(self) -> None:
        require_rate("Adaptive", self.learning_rate)
        if not (0.0 <= self.first_decay < 1.0 and 0.0 <= self.second_decay < 1.0):
            raise ConfigurationError(
                "'first_decay' and 'second_decay' of Adaptive must be in [0, 1); "
                f"got {self.first_decay} and {self.second_decay}."
            )
        if not (self.adaptivity > 0 and math.isfinite(self.adaptivity)):
            raise ConfigurationError(f"'adaptivity' of Adaptive must be positive; got {self.adaptivity}.")

    def init(self, dimension: int) -> Moments:
        """Returns zero and τ²."""
        return Moments(0, np.zeros(dimension), np.full(dimension, self.adaptivity**2))

    def step(self, state: Moments, parameters: Floats, aggregate_mean: Floats) -> tuple[Moments, Floats]:
        """Updates both moments, then follows their quotient."""
        first = self.first_decay * state.first + (1.0 - self.first_decay) * aggregate_mean
        second = self._second(state.second, aggregate_mean**2)
        rate = self.learning_rate * self.schedule.factor(state.rounds)
        moved = parameters + rate * first / (np.sqrt(second) + self.adaptivity)
        return Moments(state.rounds + 1, first, second), moved

    def _second(self, second: Floats, squared: Floats) -> Floats:
        match self.second_moment:
            case SecondMoment.ADAGRAD:
                return second + squared
            case SecondMoment.ADAM:
                return self.second_decay * second + (1.0 - self.second_decay) * squared
            case SecondMoment.YOGI:
                return second - (1.0 - self.second_decay) * squared * np.sign(second - squared)
