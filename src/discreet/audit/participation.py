"""Which of the canaries take part in a round: drawn by the sampler that the plan states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Booleans
from discreet.errors import UnsupportedAnalysisError
from discreet.plan import Plan
from discreet.privacy.events import FixedSizeSampling, NoSampling, PoissonSampling
from discreet.randomness import SeededRandom
from discreet.sampling import EVERY_ONE, FixedSize, Poisson


@dataclass(frozen=True, slots=True)
class Participation:
    """The canaries are the first of the units that ``sampler`` draws from."""

    sampler: Poisson | FixedSize

    @property
    def prob(self) -> float:
        """Probability with which one canary takes part."""
        match self.sampler:
            case Poisson(prob=prob):
                return prob
            case FixedSize(sample_size=size, population=population):
                return size / population

    def drawn(self, count: int, randomness: SeededRandom) -> Booleans:
        """Says who of ``count`` canaries takes part, shape ``(count,)``; at most as many as units."""
        units = self.sampler.population if isinstance(self.sampler, FixedSize) else count
        coins = np.zeros(units, dtype=np.bool_)
        coins[self.sampler.draw(units, randomness)] = True
        return coins[:count]


def participation(plan: Plan) -> Participation:
    """Returns how units take part in a round.

    Raises:
        UnsupportedAnalysisError: for samplings that no config can ask for.
    """
    match plan.release.sampling:
        case NoSampling():
            return Participation(EVERY_ONE)
        case PoissonSampling(prob=prob):
            return Participation(Poisson(prob))
        case FixedSizeSampling(sample_size=size, population=population):
            return Participation(FixedSize(size, population))
        case other:
            raise UnsupportedAnalysisError(
                f"canaries need sampling by coins or of a fixed size; got {type(other).__name__}. Audit a "
                "plan with Poisson sampling, or without."
            )


def most_canaries(plan: Plan) -> int:
    """Returns how many gradient-space canaries one rehearsal can hold: no two share a weight or a unit."""
    sampler = participation(plan).sampler
    units = sampler.population if isinstance(sampler, FixedSize) else plan.facts.dimension
    return min(plan.facts.dimension, units)
