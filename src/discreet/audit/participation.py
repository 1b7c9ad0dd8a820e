"""Which of the canaries take part in a round: drawn as the plan's own sampler would draw them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.errors import UnsupportedAnalysisError
from discreet.plan import Plan
from discreet.privacy.events import FixedSizeSampling, NoSampling, PoissonSampling
from discreet.randomness import SeededRandom

Coins = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Independent:
    """Each canary by a coin of its own."""

    prob: float

    def drawn(self, count: int, randomness: SeededRandom) -> Coins:
        """Says who takes part, shape ``(count,)``."""
        return randomness.bernoulli(count, self.prob)


@dataclass(frozen=True, slots=True)
class FixedNumber:
    """The canaries are the first of ``population`` units, of which ``size`` take part."""

    size: int
    population: int

    @property
    def prob(self) -> float:
        """Probability with which one canary takes part."""
        return self.size / self.population

    def drawn(self, count: int, randomness: SeededRandom) -> Coins:
        """Says who takes part, shape ``(count,)``; ``count`` is at most ``population``."""
        return np.argsort(randomness.permutation(self.population))[:count] < self.size


def participation(plan: Plan) -> Independent | FixedNumber:
    """Returns how units take part in a round.

    Raises:
        UnsupportedAnalysisError: for samplings that no config can ask for.
    """
    match plan.release.sampling:
        case NoSampling():
            return Independent(1.0)
        case PoissonSampling(prob=prob):
            return Independent(prob)
        case FixedSizeSampling(sample_size=size, population=population):
            return FixedNumber(size, population)
        case other:
            raise UnsupportedAnalysisError(
                f"canaries need sampling by coins or of a fixed size; got {type(other).__name__}. Audit a "
                "plan with Poisson sampling, or without."
            )


def most_canaries(plan: Plan) -> int:
    """Returns how many gradient-space canaries one rehearsal can hold: no two share a weight or a unit."""
    taking_part = participation(plan)
    units = taking_part.population if isinstance(taking_part, FixedNumber) else plan.facts.dimension
    return min(plan.facts.dimension, units)
