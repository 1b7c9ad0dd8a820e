"""Where the time of a round goes."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SumSeconds:
    """Wall time of one secure sum, in seconds; silos that work at the same time are counted once.

    Attributes:
        training: local training of the silos.
        encoding: rounding, and the silos' shares of noise.
        aggregation: keys, shares, masks, sum and unmasking.
    """

    training: float
    encoding: float
    aggregation: float


@dataclass(frozen=True, slots=True)
class RoundSeconds:
    """Wall time of one round, in seconds.

    Attributes:
        sum: what the silos and the secure sum took, intent included.
        server: decoding and the server's update.
        record: state and ledger, made durable.
        measuring: the new model on held-out records.
    """

    sum: float
    server: float
    record: float
    measuring: float

    @property
    def total(self) -> float:
        """The whole round."""
        return self.sum + self.server + self.record + self.measuring


class Stopwatch:
    """Gives the wall time since the last lap.

    Example:
        >>> watch = Stopwatch()
        >>> watch.lap() >= 0.0
        True
    """

    def __init__(self) -> None:
        self._last = time.monotonic()

    def lap(self) -> float:
        """Returns the seconds since the last lap, or since the start."""
        before, self._last = self._last, time.monotonic()
        return self._last - before
