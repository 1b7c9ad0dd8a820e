r"""Several local steps: what other silos' own records do to the noise that a claim counts. An ordinary loss.

Run: python reproductions/contracting_silos.py

Heikkilä (2025), Theorem 4.6, accounts S noisy local steps at the noise of all silos in each: μ = √S/z,
where z is the sum's noise over the clipping norm. But a silo that steps against its own records'
curvature takes its noise back: with weights that shrink by ρ a step towards a minimum, what is left after
S steps of variance v each is v·(1 − ρ^{2S})/(1 − ρ²), and not S·v. A silo with hardly any records takes
neither its own noise back nor a record's push. So the record moves the sum by S clipping norms, against
less noise than was counted.

One weight and quadratic losses show it exactly; multinomial logistic regression on handwritten digits,
where one silo has five records and nine have 160, shows it with nothing crafted but the sizes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from scipy.stats import beta, norm

from discreet.accounting.gdp import gaussian_epsilon
from discreet.config import parse_config
from discreet.engines.local import prepare

DELTA, CONFIDENCE = 1e-5, 0.99


def claimed_mu(steps: int, multiplier: float) -> float:
    """The claim: S adaptive releases at the noise of all."""
    return math.sqrt(steps) / multiplier


def quadratic_mu(steps: int, multiplier: float, silos: int, shrinking: float) -> float:
    """Exact for one weight: one silo's record pushes by C a step, the others' weights shrink to a minimum.

    Example:
        >>> round(quadratic_mu(20, 4.0, 10, 1.0), 6) == round(claimed_mu(20, 4.0), 6)
        True
    """
    left = sum(shrinking ** (2 * step) for step in range(steps))
    return steps / (multiplier * math.sqrt(steps / silos + left * (silos - 1) / silos))


@dataclass(frozen=True)
class Federation:
    """A small silo among large ones; ``step`` is their rate for the mean gradient of a large one."""

    silos: int = 10
    small: int = 5
    large: int = 160
    steps: int = 40
    multiplier: float = 8.0
    clip_norm: float = 0.2
    step: float = 16.0


@dataclass(frozen=True)
class Records:
    """Images as vectors of norm one, and whether a digit is odd, as 0 or 1."""

    features: torch.Tensor
    labels: torch.Tensor

    def part(self, first: int, last: int) -> Records:
        """Some of them."""
        return Records(self.features[first:last], self.labels[first:last])


def digits() -> Records:
    """The training part of the bundled digits, as they are dealt."""
    document = {
        "data": {"source": "digits", "partition": {"kind": "iid", "silos": 3}, "record_capacity": 600},
        "training": {"rounds": 1, "local": {"kind": "single-step"}},
        "privacy": {"epsilon": 1.0, "delta": 1e-5, "clip_norm": 1.0},
        "aggregation": {"protocol": "ideal"},
    }
    parts = [silo.train for silo in prepare(parse_config(document, source="digits")).federation.silos]
    features = torch.from_numpy(np.concatenate([part.features for part in parts])).float().flatten(1)
    labels = torch.from_numpy(np.concatenate([part.labels for part in parts])).long()
    return Records(features / features.norm(dim=1, keepdim=True), (labels % 2).float())


def updates(records: Records, federation: Federation, trials: int, noise: torch.Generator) -> torch.Tensor:
    """Noisy full-batch steps of one silo, from zero: shape (trials, p), over rate times clip norm."""
    rate = federation.step / federation.large
    share = federation.multiplier * federation.clip_norm / math.sqrt(federation.silos)
    weights = torch.zeros(trials, records.features.shape[1])
    for _ in range(federation.steps):
        errors = (weights @ records.features.T).sigmoid_() - records.labels
        errors.clamp_(-federation.clip_norm, federation.clip_norm)
        weights -= rate * (errors @ records.features + share * torch.randn(weights.shape, generator=noise))
    return weights / (rate * federation.clip_norm)


def scores(records: Records, federation: Federation, trials: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """What the sum says of the record after the small silo's: without it, with it. Noise is fresh in both.

    The direction and its weights come from trials of their own.
    """
    noise = torch.Generator().manual_seed(seed)
    small, target = federation.small, federation.small + 1
    large = records.part(target, target + federation.large)

    def sums(mine: Records, count: int) -> torch.Tensor:
        others = (updates(large, federation, count, noise) for _ in range(federation.silos - 1))
        return sum(others, updates(mine, federation, count, noise))

    first = noise.get_state()
    pair = []
    for last in (small, target):
        noise.set_state(first)
        pair.append(updates(records.part(0, last), federation, trials // 4, noise).mean(0))
    moved = pair[1] - pair[0]
    weights = moved / sums(records.part(0, small), trials // 4).var(0)
    without, having = ((sums(records.part(0, n), trials) @ weights).numpy() for n in (small, target))
    return without, having


def gaussian_lower(without: np.ndarray, having: np.ndarray) -> tuple[float, float, float]:
    """Returns false and true positive rate at one threshold, and the μ that they exceed with 99 % confidence.

    Half of the trials choose the threshold.
    """
    half = len(without) // 2
    threshold = (without[:half].mean() + having[:half].mean()) / 2.0
    false, true = (int((found[half:] > threshold).sum()) for found in (without, having))
    trials, miss = len(without) - half, (1.0 - CONFIDENCE) / 2.0
    most_false = float(beta.ppf(1.0 - miss, false + 1, trials - false))
    least_true = float(beta.ppf(miss, true, trials - true + 1))
    return false / trials, true / trials, float(norm.ppf(least_true) - norm.ppf(most_false))


def main(trials: int = 1500) -> None:
    """Prints what docs/claims.md shows."""
    federation = Federation()
    steps, multiplier, silos = federation.steps, federation.multiplier, federation.silos
    claimed = claimed_mu(steps, multiplier)
    print(f"{silos} silos, {steps} steps, noise multiplier {multiplier:g} of the sum: claimed mu, epsilon")
    print(f"  {claimed:.3f}, {gaussian_epsilon(claimed, DELTA):.2f}")
    print("one weight, the others shrink by a step: exact mu, epsilon")
    for shrinking in (1.0, 0.9, 0.5, 0.0):
        found = quadratic_mu(steps, multiplier, silos, shrinking)
        print(f"  {shrinking:g}: {found:.3f}, {gaussian_epsilon(found, DELTA):.2f}")
    false, true, lower = gaussian_lower(*scores(digits(), federation, trials, seed=1))
    print("logistic regression on digits, odd or even: five records among nine silos of 160")
    print(f"  false positives {false:.2f}, true ones {true:.2f}")
    print(f"  mu >= {math.floor(10.0 * lower) / 10.0} with 99 % confidence")


if __name__ == "__main__":
    main()
