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
from discreet.audit.findings import LocalStateFinding
from discreet.audit.membership import AttackRates
from discreet.errors import ConfigurationError
from discreet.mechanisms import per_silo
from discreet.plan import Plan
from discreet.privacy.events import GaussianNoise, Release, Repeated
from discreet.privacy.units import Status
from discreet.randomness import SeededRandom

_STEPS = 2
_TRIALS = 1_000_000
# Triggers in units of γC; larger ones trade hits for fewer false alarms.
_TRIGGERS = tuple(0.5 + 0.25 * step for step in range(24))


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

    def exact_rates(self) -> tuple[float, float]:
        """Returns (FPR, TPR) of the test "released b beyond half the shout", for real Gaussian noise."""
        local = self.local_noise_multiplier
        alarm, hit = (float(ndtr((moved - self.trigger) / local)) for moved in (0.0, 1.0))
        heard = float(ndtr(self.amplifiers / 2.0 / (math.sqrt(_STEPS) * self.noise_multiplier)))
        false_positives, true_positives = (p * heard + (1.0 - p) * (1.0 - heard) for p in (alarm, hit))
        return false_positives, true_positives


def simulate_local_state_attack(
    federation: CraftedFederation, trials: int, randomness: SeededRandom
) -> AttackRates:
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


def two_steps_epsilon(noise_multiplier: float, delta: float) -> float:
    """Returns ε of two steps of the crafted federation at this noise.

    The summed noise gives the CONDITIONAL claim (Heikkilä 2025, Theorem 4.6), the silo's own the PROVEN one.
    """
    step = Release(GaussianNoise(noise_multiplier), 1.0, dimension=2)
    return epsilon(Repeated(step, _STEPS), delta=delta).epsilon


def local_state_finding(plan: Plan, confidence: float, randomness: SeededRandom) -> LocalStateFinding:
    """Attacks two steps of one round at a plan's noise and number of honest silos; see `LocalStateFinding`.

    Args:
        plan: of noisy-steps.
        confidence: of the lower bound.
        randomness: of the simulated rounds.
    """
    honest, release, delta = plan.thresholds.honest_survivors, plan.release, plan.privacy.delta
    share = per_silo(release.share, 1).variance
    multiplier = math.sqrt(honest * share) / release.l2_sensitivity
    counted = release.counted_shares(honest)
    claimed = two_steps_epsilon(math.sqrt(counted * share) / release.l2_sensitivity, delta)
    # Enough others that their answer is heard over the summed noise.
    amplifiers = math.ceil(16.0 * multiplier)
    candidates = [CraftedFederation(honest, multiplier, trigger, amplifiers) for trigger in _TRIGGERS]
    best = max(candidates, key=lambda federation: _expected_bound(federation, delta))
    shown = simulate_local_state_attack(best, _TRIALS, randomness).epsilon_lower(delta, confidence)
    conditional = counted > 1
    return LocalStateFinding(
        num_silos=honest,
        noise_multiplier=multiplier,
        trigger=best.trigger,
        trials=_TRIALS,
        claimed=claimed,
        delta=delta,
        status=Status.CONDITIONAL if conditional else Status.PROVEN,
        audited_epsilon_lower=shown,
        confidence=confidence,
    )


def _expected_bound(federation: CraftedFederation, delta: float) -> float:
    """Returns about the ε that ``_TRIALS`` rounds can show: four standard errors off the exact rates."""
    alarms, hits = federation.exact_rates()
    high = alarms + 4.0 * math.sqrt(alarms / _TRIALS) + 8.0 / _TRIALS
    low = hits - 4.0 * math.sqrt(hits / _TRIALS) - delta
    return math.log(low / high) if low > 0.0 else -math.inf
