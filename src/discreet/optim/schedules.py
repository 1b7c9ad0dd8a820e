"""Learning-rate schedules: public functions of the round number."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.errors import ConfigurationError


def require_rate(owner: str, rate: float) -> None:
    """Refuses a learning rate that is not positive and finite."""
    if not (rate > 0 and math.isfinite(rate)):
        raise ConfigurationError(f"The 'learning_rate' parameter of {owner} must be positive; got {rate}.")


@dataclass(frozen=True, slots=True)
class Constant:
    """The same factor in every round."""

    def factor(self, round_index: int) -> float:  # noqa: ARG002 - one contract for all schedules
        """Returns 1."""
        return 1.0


@dataclass(frozen=True, slots=True)
class ExponentialDecay:
    """``decay`` to the power of the round number; P3 uses 0.99.

    Example:
        >>> ExponentialDecay(0.5).factor(2)
        0.25
    """

    decay: float

    def __post_init__(self) -> None:
        if not 0.0 < self.decay <= 1.0:
            raise ConfigurationError(f"The 'decay' of ExponentialDecay must be in (0, 1]; got {self.decay}.")

    def factor(self, round_index: int) -> float:
        """Returns decay^round_index."""
        return self.decay**round_index


@dataclass(frozen=True, slots=True)
class InverseTime:
    """1 / (1 + ``decay`` · round number)."""

    decay: float

    def __post_init__(self) -> None:
        if not (self.decay >= 0.0 and math.isfinite(self.decay)):
            raise ConfigurationError(f"The 'decay' of InverseTime must be >= 0; got {self.decay}.")

    def factor(self, round_index: int) -> float:
        """Returns 1 / (1 + decay · round_index)."""
        return 1.0 / (1.0 + self.decay * round_index)


Schedule = Constant | ExponentialDecay | InverseTime
CONSTANT = Constant()
