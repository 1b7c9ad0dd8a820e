"""Heikkilä (2025), Theorem 4.6: the claim for several local steps, attacked through the local state."""

from collections.abc import Iterator

from discreet.audit import CraftedFederation, simulate_local_state_attack, two_steps_epsilon
from discreet.randomness import SeededRandom
from reproducing import Computed, Context, Scale

DELTA, CONFIDENCE = 1e-5, 0.99
# Silos, summed noise multiplier, trigger in units of γC; a trigger of 1/2 is the sign attack.
FEDERATIONS = [(100, 4.0, 0.5), (100, 8.0, 0.5), (100, 4.0, 0.8), (10, 4.0, 3.5)]
TRIALS = {Scale.SMALL: 200_000, Scale.FULL: 5_000_000}


def cells(context: Context) -> Iterator[Computed]:
    """The claimed ε, and a lower bound on the true ε that an attack shows with 99 % confidence."""
    for number, (silos, multiplier, trigger) in enumerate(FEDERATIONS):
        federation = CraftedFederation(silos, multiplier, trigger)
        source = SeededRandom(1).derive(number)
        rates = simulate_local_state_attack(federation, TRIALS[context.scale], source)
        where = f"N = {silos}, z = {multiplier:g}, trigger {trigger:g}"
        claimed = two_steps_epsilon(multiplier, DELTA)
        shown = rates.epsilon_lower(DELTA, CONFIDENCE)
        alarms, hits = rates.false_positives / rates.trials, rates.true_positives / rates.trials
        note = f"false alarms {alarms:.4f}, hits {hits:.4f}"
        yield Computed(f"{where}: claimed ε", reproduced=claimed)
        yield Computed(f"{where}: attack shows ε ≥", ours=shown, note=note)
        proven = two_steps_epsilon(federation.local_noise_multiplier, DELTA)
        yield Computed(f"{where}: proven local ε", ours=proven)
