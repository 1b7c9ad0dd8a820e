"""Averaging that releases, after the last round, the mean of the last half of the models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats
from discreet.errors import ConfigurationError
from discreet.optim.momentum import Averaging, RoundCount


@dataclass(frozen=True, slots=True)
class TailSum:
    """How many rounds are over, and the sum of those models that count, shape ``(d,)``."""

    averaging: RoundCount
    models: Floats


@dataclass(frozen=True, slots=True)
class TailMean:
    """Federated averaging; the last of ``rounds`` rounds gives the mean of the last ⌈rounds/2⌉ models.

    Until then rounds start from the models themselves. A training that ends earlier, since rounds came to
    nothing, releases its last model.

    Attributes:
        averaging: the rule that makes the models.
        rounds: of the whole training.

    Example:
        >>> rule, model = TailMean(Averaging(), rounds=3), np.zeros(1)
        >>> state = rule.init(1)
        >>> for _ in range(3):
        ...     state, model = rule.step(state, model, np.ones(1))
        >>> model.tolist()
        [2.5]
    """

    averaging: Averaging
    rounds: int

    def __post_init__(self) -> None:
        if not self.rounds >= 1:
            raise ConfigurationError(f"The 'rounds' parameter of TailMean must be >= 1; got {self.rounds}.")

    def init(self, dimension: int) -> TailSum:
        """Returns an empty sum."""
        return TailSum(self.averaging.init(dimension), np.zeros(dimension))

    def step(self, state: TailSum, parameters: Floats, aggregate_mean: Floats) -> tuple[TailSum, Floats]:
        """Follows the mean; in the last round, returns the mean of the models that were summed."""
        count, model = self.averaging.step(state.averaging, parameters, aggregate_mean)
        counted = -(-self.rounds // 2)
        models = state.models + model if count.rounds > self.rounds - counted else state.models
        return TailSum(count, models), models / counted if count.rounds == self.rounds else model
