r"""The local-state attack: several noisy local steps leak more than the summed noise suggests.

One round of two local steps (docs/claims.md). Parameters (a, b). The target record's gradient lies along a in
every step; the silo's other records have no gradient until the *local* a has moved by more than
``trigger``·γC, and then +C along b. The silo's own noise is all that hides the first step from the second,
and the second step shouts: B·C along b in the released sum. So the released b tells what the local guarantee
allows and not what the summed noise would.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from discreet.accounting import epsilon
from discreet.audit.membership import AttackRates
from discreet.errors import ConfigurationError
from discreet.privacy.events import GaussianNoise, Release, Repeated
from discreet.randomness import SeededRandom

_STEPS = 2


@dataclass(frozen=True, slots=True)
class CraftedFederation:
    """A federation in which one silo's second step betrays its first.

    Attributes:
        num_silos: N, all honest, all adding the same noise.
        noise_multiplier: z, summed noise deviation per step ÷ clip norm; each silo adds z/√N.
        trigger: how far the local a must move for the others to answer, in units of γC; larger triggers
            make false alarms rarer.
        amplifiers: B, the silo's other records.
    """

    num_silos: int
    noise_multiplier: float
    trigger: float = 0.5
    amplifiers: int = 64

    def __post_init__(self) -> None:
        if not (self.num_silos >= 1 and self.amplifiers >= 1 and self.noise_multiplier > 0.0 < self.trigger):
            raise ConfigurationError(
                "a crafted federation needs num_silos, amplifiers >= 1, noise_multiplier, trigger > 0; got "
                f"{self.num_silos}, {self.amplifiers}, {self.noise_multiplier}, {self.trigger}."
            )

    @property
    def local_noise_multiplier(self) -> float:
        """z/√N, the only noise between the target and the silo's second step."""
        return self.noise_multiplier / math.sqrt(self.num_silos)

    def claimed_epsilon(self, delta: float) -> float:
        """Returns the CONDITIONAL claim: two steps at the summed noise (Heikkilä 2025, Theorem 4.6)."""
        return _two_steps(self.noise_multiplier, delta)

    def local_epsilon(self, delta: float) -> float:
        """Returns the PROVEN claim: two steps at the silo's own noise."""
        return _two_steps(self.local_noise_multiplier, delta)

    def exact_rates(self) -> tuple[float, float]:
        """Returns (FPR, TPR) of the test "released b beyond half the shout", for real Gaussian noise."""
        local = self.local_noise_multiplier
        alarm, hit = (float(ndtr((moved - self.trigger) / local)) for moved in (0.0, 1.0))
        heard = float(ndtr(self.amplifiers / 2.0 / (math.sqrt(_STEPS) * self.noise_multiplier)))
        false_positives, true_positives = (p * heard + (1.0 - p) * (1.0 - heard) for p in (alarm, hit))
        return false_positives, true_positives


def simulate(federation: CraftedFederation, trials: int, randomness: SeededRandom) -> AttackRates:
    """Plays the round ``trials`` times in each world with vectorised Gaussian noise, C = γ = 1."""
    generator = np.random.Generator(np.random.PCG64(int(randomness.words(1)[0])))
    counts = []
    for target in (0.0, 1.0):
        first = generator.normal(target, federation.local_noise_multiplier, trials)
        shouts = federation.amplifiers * (first > federation.trigger)
        noise = math.sqrt(_STEPS) * federation.noise_multiplier
        released = shouts + generator.normal(0.0, noise, trials)
        counts.append(int((released > federation.amplifiers / 2.0).sum()))
    return AttackRates(counts[0], counts[1], trials)


def _two_steps(noise_multiplier: float, delta: float) -> float:
    step = Release(GaussianNoise(noise_multiplier), 1.0, dimension=2)
    return epsilon(Repeated(step, _STEPS), delta=delta).epsilon
