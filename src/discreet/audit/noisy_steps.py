"""The local-state attack sized by a plan: as many honest silos, as much noise in every step."""

from __future__ import annotations

import math

from discreet.accounting import epsilon
from discreet.audit.findings import LocalStateFinding
from discreet.audit.local_state import CraftedFederation, simulate
from discreet.mechanisms import per_silo
from discreet.plan import Plan
from discreet.privacy.events import GaussianNoise, Release, Repeated
from discreet.privacy.units import Status
from discreet.randomness import SeededRandom

_TRIALS = 1_000_000
# Triggers in units of γC; larger ones trade hits for fewer false alarms.
_TRIGGERS = tuple(0.5 + 0.25 * step for step in range(24))


def local_state_finding(plan: Plan, confidence: float, randomness: SeededRandom) -> LocalStateFinding:
    """Attacks two steps of one round at the plan's noise; see `LocalStateFinding`.

    Args:
        plan: of noisy-steps.
        confidence: of the lower bound.
        randomness: of the simulated rounds.
    """
    honest, release, delta = plan.thresholds.honest_survivors, plan.release, plan.config.privacy.delta
    share = per_silo(release.share, 1).variance
    multiplier = math.sqrt(honest * share) / release.l2_sensitivity
    counted = release.counted_shares(honest)
    noise = GaussianNoise(math.sqrt(counted * share) / release.l2_sensitivity)
    claimed = epsilon(Repeated(Release(noise, 1.0, dimension=2), 2), delta=delta).epsilon
    # Enough others that their answer is heard over the summed noise.
    amplifiers = math.ceil(16.0 * multiplier)
    candidates = [CraftedFederation(honest, multiplier, trigger, amplifiers) for trigger in _TRIGGERS]
    best = max(candidates, key=lambda federation: _expected_bound(federation, delta))
    shown = simulate(best, _TRIALS, randomness).epsilon_lower(delta, confidence)
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
