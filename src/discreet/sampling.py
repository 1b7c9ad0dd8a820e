"""Samplers: each draws indices from a random source and states, as an event, what it drew.

The accountant reads its ``event``, the training loop calls its ``draw``; there is no second place
in which a probability or a size could be written down.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Indices
from discreet.errors import ConfigurationError
from discreet.privacy.events import (
    FixedSizeSampling,
    NoSampling,
    PoissonSampling,
    Sampling,
)
from discreet.randomness import RandomSource


@dataclass(frozen=True, slots=True)
class Poisson:
    """Every unit takes part with probability ``prob``, independently; an empty draw is legal.

    Guarantee:
        The coins are exact up to a downward rounding of ``prob`` to a multiple of 2^-64, so a unit is never
        more likely to take part than the event says.

    Example:
        >>> from discreet.randomness import SeededRandom
        >>> Poisson(0.25).draw(8, SeededRandom(1)).dtype
        dtype('int64')
    """

    prob: float

    def __post_init__(self) -> None:
        PoissonSampling(self.prob)

    def draw(self, population: int, randomness: RandomSource) -> Indices:
        """Tosses one coin a unit."""
        return np.flatnonzero(randomness.bernoulli(population, self.prob)).astype(np.int64)

    def event(self) -> Sampling:
        """Poisson sampling, or none when every unit takes part."""
        return NoSampling() if self.prob == 1.0 else PoissonSampling(self.prob)


EVERY_ONE = Poisson(1.0)
"""Every unit takes part; states no amplification."""


@dataclass(frozen=True, slots=True)
class FixedSize:
    """Exactly ``sample_size`` of ``population`` places without replacement (replace-one relation).

    A place holds a unit or is empty; an empty one that is drawn contributes nothing. So the number of units
    may be any up to ``population``, and does not show.
    """

    sample_size: int
    population: int

    def __post_init__(self) -> None:
        FixedSizeSampling(self.sample_size, self.population)

    def draw(self, population: int, randomness: RandomSource) -> Indices:
        """Takes the head of a uniform permutation of the places; leaves those out that hold no unit."""
        if not population <= self.population:
            raise ConfigurationError(
                f"Fixed-size sampling was planned for at most {self.population} units; got {population}. "
                "Plan again with a larger record_capacity."
            )
        drawn = np.sort(randomness.permutation(self.population)[: self.sample_size])
        return drawn[drawn < population]

    def event(self) -> Sampling:
        """Sampling without replacement."""
        return FixedSizeSampling(self.sample_size, self.population)
