"""One-run audits of a PROVEN claim, repeated, and of the same training with half the planned noise.

    python bench/audit.py [--repetitions 100] [--runs 8]

Prints a table in Markdown: how often the claim was exceeded, and the largest ε that an audit showed, with
noise after rounding and before it. Four silos of handwritten digits, (3, 10⁻⁵) per record against the server
and one colluding silo; each repetition rehearses the training ``--runs`` times with a gradient-space canary
in every weight.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt

from discreet.audit.campaign import claimed
from discreet.audit.canaries import coordinate_canaries
from discreet.audit.findings import CanaryFinding
from discreet.audit.judge import judge
from discreet.audit.one_run import coordinate_run
from discreet.config import parse_config
from discreet.engines.local import Prepared, prepare
from discreet.mechanisms import round_with_noise, sample_share
from discreet.privacy.adversary import ServerWithColluders
from discreet.privacy.events import IntegerNoise, RoundedGaussianNoise
from discreet.randomness import RandomSource, SeededRandom

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

CONFIDENCE = 0.99
CONFIG: dict[str, Any] = {
    "name": "digits",
    "data": {"source": "digits", "record_capacity": 420, "partition": {"kind": "iid", "silos": 4}},
    "training": {
        "rounds": 3,
        "local": {"kind": "stable-steps", "learning_rate": 0.05, "records_per_step": 20},
    },
    "privacy": {"epsilon": 3.0, "delta": 1e-5},
    "aggregation": {"protocol": "ideal", "min_survivors": 3, "max_colluding": 1},
}


def audited(prepared: Prepared, seed: int, runs: int) -> CanaryFinding:
    """Audits the strongest adversary's claim once."""
    adversary = ServerWithColluders(1)
    scores = []
    for number in range(runs):
        source = SeededRandom(seed).derive("bench", number)
        dimension = prepared.plan.facts.dimension
        canaries = coordinate_canaries(prepared.plan, dimension, source.derive("canaries"))
        run = coordinate_run(prepared, canaries, source)
        scores.append(next(view for view in run.scores if view.adversary == adversary))
    claim, curve = claimed(prepared.plan, adversary)
    return judge(scores, canaries="gradient-space", claim=claim, curve=curve, confidence=CONFIDENCE)


@contextmanager
def half_the_noise() -> Iterator[None]:
    """Lets every silo draw noise of half the planned deviation, also before it rounds."""

    def first(
        values: Floats, law: RoundedGaussianNoise, randomness: RandomSource, *, workers: int = 1
    ) -> Integers:
        half = RoundedGaussianNoise(0.5 * law.silo_stddev, law.num_silos)
        return round_with_noise(values, half, randomness, workers=workers)

    def drawn(law: IntegerNoise, size: int, randomness: RandomSource, *, workers: int = 1) -> Integers:
        halved: Integers = np.rint(0.5 * sample_share(law, size, randomness, workers=workers)).astype(
            np.int64
        )
        return halved

    def added(values: Integers, law: IntegerNoise, randomness: RandomSource, *, workers: int = 1) -> None:
        values += drawn(law, len(values), randomness, workers=workers)

    with (
        mock.patch("discreet.encoding.contribution.add_share", added),
        mock.patch("discreet.encoding.contribution.sample_share", drawn),
        mock.patch("discreet.encoding.contribution.round_with_noise", first),
    ):
        yield


def row(name: str, findings: list[CanaryFinding]) -> str:
    """Returns one line of the table."""
    exceeded = sum(finding.exceeded for finding in findings)
    largest = max(finding.audited_epsilon_lower for finding in findings)
    gaussian = [finding.audited_gaussian_epsilon_lower for finding in findings]
    right = sum(f.correct for f in findings) / sum(f.guesses for f in findings)
    return (
        f"| {name} | {findings[0].claim.epsilon:.3f} | {exceeded} of {len(findings)} | {largest:.3f} | "
        f"{np.median(gaussian):.3f}, {max(gaussian):.3f} | {100 * right:.1f} % |"
    )


def training_with(*, noise_first: bool) -> Prepared:
    """Returns the training with noise on either side of the rounding."""
    aggregation = CONFIG["aggregation"] | {"noise_first": noise_first}
    return prepare(parse_config(CONFIG | {"aggregation": aggregation}, source="bench"))


def main() -> None:
    """Prints all rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--runs", type=int, default=8)
    asked = parser.parse_args()
    print("| noise | claimed ε | claim exceeded | largest ε shown | Gaussian: median, largest | right |")
    print("|---|---|---|---|---|---|")
    seeds = range(asked.repetitions)
    for noise_first, name in ((False, ""), (True, ", before rounding")):
        training = training_with(noise_first=noise_first)
        honest = [audited(training, seed, asked.runs) for seed in seeds]
        print(row(f"as planned{name}", honest), flush=True)
        with half_the_noise():
            halved = [audited(training, seed, asked.runs) for seed in seeds]
        print(row(f"half of it{name}", halved), flush=True)


if __name__ == "__main__":
    main()
