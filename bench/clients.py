"""A thousand small clients (DP-Fed, Liang et al.): closed-form against calibrated noise at one (ε, δ).

    python bench/clients.py --data-dir DIR --epsilon 6

Logistic regression on MNIST: 1000 clients of 50 records, about 50 a round by their own coins, 30 rounds, 5
epochs in batches of 10 inside a ball of 0.3. Local training, smoothing, the theorem and the calibration are
the product's own; the sum and its noise are formed in real numbers in this process.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import sys
from pathlib import Path

import numpy as np

from discreet.accounting import calibrate
from discreet.data.norm import with_constant
from discreet.data.records import Records
from discreet.kinds import AveragingConfig, ClippedUpdate, SmoothingConfig
from discreet.learning import evaluation, local_update, logits
from discreet.models import LinearHead, flatten, load_flat
from discreet.privacy.events import GaussianNoise, PoissonSampling, Release, Repeated
from discreet.randomness import SeededRandom

sys.path.append(str(Path(__file__).parents[1] / "reproductions"))
from closed_forms import POISSON, Federation, closed_form_stddev

CLIENTS, RECORDS, ROUNDS, PROB, BOUND = 1000, 50, 30, 0.05, 0.3
DELTA = CLIENTS**-1.1
KIND = ClippedUpdate(BOUND, 1e-2, 10, epochs=5, weight_decay=4e-5, project_steps=True, sampling_prob=PROB)
DECAY = 0.99


def closed_form(epsilon: float) -> float:
    """The noise that the published theorem asks for."""
    return closed_form_stddev(POISSON, Federation(PROB, ROUNDS, BOUND, DELTA), epsilon)


def calibrated(epsilon: float) -> float:
    """The least noise that is proven for adding or removing one client."""

    def event(stddev: float) -> Repeated:
        return Repeated(
            Release(GaussianNoise(stddev), KIND.l2_sensitivity(), 1, PoissonSampling(PROB)), ROUNDS
        )

    return calibrate(event, epsilon=epsilon, delta=DELTA, lower=0.01, upper=10.0)


def clients_of(data_dir: Path) -> tuple[list[Records], Records]:
    """The first 50,000 training images, dealt to the clients in random order; all test images."""
    with np.load(data_dir / "mnist.npz") as arrays:
        images = {
            part: with_constant(arrays[f"x_{part}"] / 255.0).astype(np.float32) for part in ("train", "test")
        }
        labels = {part: arrays[f"y_{part}"].astype(np.int64) for part in ("train", "test")}
    order = SeededRandom(0).permutation(CLIENTS * RECORDS).reshape(CLIENTS, RECORDS)
    clients = [Records(images["train"][rows], labels["train"][rows]) for rows in order]
    return clients, Records(images["test"], labels["test"])


def accuracy(clients: list[Records], test: Records, stddev: float, sigma: float, seed: int) -> float:
    """Trains for all rounds at noise ``stddev`` in the sum and returns the test accuracy."""
    model = LinearHead(test.features.shape[1], 10)
    parameters = flatten(model)
    rule = AveragingConfig(smoothing=SmoothingConfig(sigma=sigma))
    state, noise = rule.init(len(parameters)), np.random.default_rng([seed, 3])
    for number in range(ROUNDS):
        kind = dataclasses.replace(KIND, learning_rate=KIND.learning_rate * DECAY**number)
        total = noise.normal(scale=stddev, size=len(parameters))
        for index, records in enumerate(clients):
            coins = SeededRandom(seed).derive(number, index)
            total += local_update(kind, model, parameters, records, coins).vector
        state, parameters = rule.step(state, parameters, total / (PROB * CLIENTS), ROUNDS)
    load_flat(model, parameters)
    return evaluation(logits(model, test), test.labels).accuracy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--epsilon", type=float, default=6.0)
    parser.add_argument("--sigma", type=float, nargs="*", default=[0.0, 1.0])
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    clients, test = clients_of(args.data_dir)
    for name, stddev in (
        ("closed form", closed_form(args.epsilon)),
        ("calibrated", calibrated(args.epsilon)),
    ):
        for sigma in args.sigma:
            results = [100 * accuracy(clients, test, stddev, sigma, seed) for seed in range(args.seeds)]
            error = np.std(results, ddof=1) / math.sqrt(len(results)) if len(results) > 1 else math.nan
            print(
                f"ε = {args.epsilon:g}, {name}: ν = {stddev:.3f}, smoothing {sigma:g}: "
                f"{np.mean(results):.2f} ± {error:.2f} %",
                flush=True,
            )


if __name__ == "__main__":
    main()
