"""Plain local SGD: several passes over shuffled batches, for the kinds that clip the whole update."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.errors import ConfigurationError
from discreet.learning.objective import Objective
from discreet.randomness import RandomSource

FloatVector = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LocalSgd:
    """Settings of local SGD; none of them touches the guarantee of a kind that clips the whole update.

    Attributes:
        learning_rate: step length per mean gradient of a batch.
        batch_size: records a step; the last batch of a pass may be smaller.
        epochs: passes over the records.
        momentum: heavy-ball momentum, reset every round.
        weight_decay: coefficient of the parameters added to the gradient.
    """

    learning_rate: float
    batch_size: int
    epochs: int = 1
    momentum: float = 0.0
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        if not (self.learning_rate > 0 and math.isfinite(self.learning_rate)):
            raise ConfigurationError(
                f"'learning_rate' of LocalSgd must be positive; got {self.learning_rate}."
            )
        if not (self.batch_size >= 1 and self.epochs >= 1):
            raise ConfigurationError(
                "'batch_size' and 'epochs' of LocalSgd must be at least 1; "
                f"got {self.batch_size} and {self.epochs}."
            )
        if not (0.0 <= self.momentum < 1.0 and 0.0 <= self.weight_decay < math.inf):
            raise ConfigurationError(
                "'momentum' of LocalSgd must be in [0, 1) and 'weight_decay' >= 0; "
                f"got {self.momentum} and {self.weight_decay}."
            )

    def run(
        self,
        objective: Objective,
        start: FloatVector,
        population: int,
        randomness: RandomSource,
        *,
        radius: float = math.inf,
    ) -> tuple[FloatVector, float]:
        """Returns how far training moved the parameters, shape ``(d,)``, and the mean loss on the way.

        Args:
            objective: the loss over records ``0 .. population - 1``.
            start: parameters to start from.
            population: number of records.
            randomness: source of the shuffles.
            radius: after every step the movement is projected onto the ball of this radius (P3's in-ball
                clipping); infinite leaves it alone.
        """
        moved, velocity = np.zeros_like(start), np.zeros_like(start)
        losses: list[float] = []
        for _ in range(self.epochs):
            order = randomness.permutation(population)
            for first in range(0, population, self.batch_size):
                here = start + moved
                gradient, loss = objective.mean_gradient(here, order[first : first + self.batch_size])
                velocity = self.momentum * velocity + gradient + self.weight_decay * here
                moved = moved - self.learning_rate * velocity
                norm = float(np.linalg.norm(moved))
                if norm > radius:
                    moved *= radius / norm
                losses.append(loss)
        return moved, float(np.mean(losses)) if losses else 0.0
