"""Settings of plain local SGD, for the kinds that clip the whole update."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.errors import ConfigurationError


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
