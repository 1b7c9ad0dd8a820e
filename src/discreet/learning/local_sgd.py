"""Plain local SGD: several passes over shuffled batches, for the kinds that clip the whole update.

Several clients take the same steps at the same time, each on its own records and from its own coins: one
call of numpy does the work of many small ones, and every client's row has the bits that it has alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.errors import ConfigurationError
from discreet.learning.objective import Objective
from discreet.randomness import RandomSource

FloatArray = npt.NDArray[np.float64]


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
        start: FloatArray,
        population: int,
        sources: Sequence[RandomSource],
        *,
        radius: float = math.inf,
    ) -> tuple[FloatArray, FloatArray]:
        """Returns how far training moved each client, shape ``(m, d)``, and its mean loss on the way.

        Args:
            objective: the losses of m clients over records ``0 .. population - 1`` of each.
            start: parameters that all start from, shape ``(d,)``.
            population: number of records, the same for each.
            sources: of each client's shuffles.
            radius: after every step the movement is projected onto the ball of this radius (P3's in-ball
                clipping); infinite leaves it alone.
        """
        moved = np.zeros((len(sources), len(start)))
        velocity, losses = np.zeros_like(moved), []
        for _ in range(self.epochs):
            orders = np.stack([source.permutation(population) for source in sources])
            for first in range(0, population, self.batch_size):
                here = start + moved
                gradients, loss = objective.mean_gradients(here, orders[:, first : first + self.batch_size])
                velocity = self._velocity(velocity, gradients, here)
                np.multiply(velocity, self.learning_rate, out=here)
                moved -= here
                _project_rows(moved, radius)
                losses.append(loss)
        return moved, np.stack(losses, axis=1).mean(axis=1) if losses else np.zeros(len(sources))

    def _velocity(self, before: FloatArray, gradients: FloatArray, here: FloatArray) -> FloatArray:
        """Returns momentum·before + gradients + weight_decay·here; all three are scratch space."""
        if self.momentum > 0.0:
            before *= self.momentum
            gradients += before
        if self.weight_decay > 0.0:
            here *= self.weight_decay
            gradients += here
        return gradients


def _project_rows(vectors: FloatArray, radius: float) -> None:
    """Brings every row into the ball; rows inside are left alone to the bit."""
    if radius == math.inf:
        return
    norms = np.sqrt(np.vecdot(vectors, vectors))
    for row in np.flatnonzero(norms > radius):
        vectors[row] *= radius / norms[row]
