"""Why secure aggregation over several local steps does not add up the noise of all silos.

Run: python docs/local_state_counterexample.py [--multiplier 4] [--silos 100] [--trials 200000]

One round, two local steps, no sampling, Gaussian noise of standard deviation z·C in the sum of all silos,
z·C/√N from each. Silo 1 holds a target record, perhaps, and B others.

- Step 1: the target's clipped gradient is C·e1; the others have none along e1.
- Step 2: every other record's clipped gradient is +C·e2 if the local model moved along e1 by more than half
  of what the target would move it, and −C·e2 if not. A loss with a kink does this; nothing forbids it.

After step 1 the local model shows the target up to the noise of *this silo alone*, and step 2 turns that one
bit into ±B·C·e2, which no noise hides. The published analysis composes two releases of noise multiplier z.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
from scipy.stats import beta

from discreet.accounting import epsilon
from discreet.privacy.events import GaussianNoise, Release, Repeated

DELTA = 1e-5
CONFIDENCE = 0.99


def attack(
    rng: np.random.Generator, *, target: bool, silos: int, multiplier: float, others: int, trials: int
) -> int:
    """Returns in how many of ``trials`` rounds the released sum points along +e2; lengths in units of C."""
    local_stddev = multiplier / math.sqrt(silos)
    moved = (1.0 if target else 0.0) + local_stddev * rng.standard_normal(trials)
    signal = np.where(moved > 0.5, others, -others)
    # All other silos' updates are noise along e2; so are both of this silo's steps.
    noise = math.sqrt(2.0) * multiplier * rng.standard_normal(trials)
    return int(np.sum(signal + noise > 0.0))


def clopper_pearson(hits: int, trials: int) -> tuple[float, float]:
    """Returns lower and upper confidence limits, each missed with probability (1 − CONFIDENCE)/2."""
    miss = (1.0 - CONFIDENCE) / 2.0
    lower = float(beta.ppf(miss, hits, trials - hits + 1)) if hits else 0.0
    upper = float(beta.ppf(1.0 - miss, hits + 1, trials - hits)) if hits < trials else 1.0
    return lower, upper


def measured_epsilon(
    rng: np.random.Generator, *, silos: int, multiplier: float, trials: int
) -> tuple[float, ...]:
    """Returns false and true positive rate, and an ε that the round exceeds with 99 % confidence."""
    found = [
        attack(rng, target=target, silos=silos, multiplier=multiplier, others=1000, trials=trials)
        for target in (False, True)
    ]
    _, most_false = clopper_pearson(found[0], trials)
    least_true, _ = clopper_pearson(found[1], trials)
    return found[0] / trials, found[1] / trials, math.log((least_true - DELTA) / most_false)


def claimed_epsilon(multiplier: float, steps: int = 2) -> float:
    """Returns ε of ``steps`` releases of this noise multiplier: the sum-dominating mechanism."""
    return epsilon(Repeated(Release(GaussianNoise(multiplier), 1.0, 1), steps), delta=DELTA).epsilon


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Measure the round of this file against what is claimed of it."
    )
    parser.add_argument("--multiplier", type=float, default=4.0)
    parser.add_argument("--silos", type=int, default=100)
    parser.add_argument("--trials", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    rng = np.random.default_rng(chosen.seed)
    false, true, lower = measured_epsilon(
        rng, silos=chosen.silos, multiplier=chosen.multiplier, trials=chosen.trials
    )
    local = claimed_epsilon(chosen.multiplier / math.sqrt(chosen.silos))
    print(
        f"claimed by summing all silos' noise:  epsilon = {claimed_epsilon(chosen.multiplier):.3f}  "
        f"(delta = {DELTA:g})"
    )
    print(f"measured: FPR {false:.4f}, TPR {true:.4f}, so epsilon >= {lower:.3f} with 99 % confidence")
    print(f"proven from the silo's own noise:     epsilon = {local:.3f}")


if __name__ == "__main__":
    main()
