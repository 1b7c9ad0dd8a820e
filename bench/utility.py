"""What a proven guarantee costs in accuracy: Fashion-MNIST over 10 silos of 5,600 records at (1, 1e-5).

    python bench/utility.py --data-dir DIR --features pixels
    python bench/utility.py --data-dir DIR --features scattering --cache scattering.npy

Local training, server rule and calibration are the product's own; the sum and its noise are formed in real
numbers in this process (the integer path costs less than 1 % more noise). A fifth of all records is held out
by public coins, as in reproductions/utility; settings are chosen with ``--validate``, which holds out a fifth
of the *training* records and never touches those.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from discreet.accounting import calibrate, epsilon
from discreet.data.norm import scale_to_norm, with_constant
from discreet.data.records import Records
from discreet.kinds import MomentumConfig, SingleStep, Softmax, StableSteps
from discreet.kinds.capped import capped
from discreet.learning import evaluation, local_update, logits
from discreet.models import LinearHead, flatten, load_flat
from discreet.models.features import FeatureMap, centred_pixels, normalised_scattering
from discreet.privacy.events import GaussianNoise, Release, Repeated
from discreet.randomness import SeededRandom

SILOS, TEST = 10, 1400
CACHE_CHUNK = 2000
FEATURES: dict[str, FeatureMap] = {
    "pixels": lambda images: images.reshape(len(images), -1),
    "centred": centred_pixels,
    "scattering": normalised_scattering,
}


@dataclass(frozen=True)
class Settings:
    """One line of the table."""

    rounds: int
    steps: int
    rate: float
    momentum: float
    epsilon: float
    delta: float = 1e-5
    clip_norm: float = 0.5
    cap: float = 1.0

    def local_training(self, capacity: int) -> SingleStep | StableSteps:
        """Stable-steps; for one step, a clipped gradient sum scaled to the same units."""
        if self.steps == 1:
            return SingleStep(self.clip_norm)
        per_record = self.rate * self.steps / capacity
        return StableSteps(capped(Softmax(10), self.cap), 1.0, per_record, self.steps, capacity)

    def server_rate(self, capacity: int) -> float:
        """A single step sends a sum of gradients; stable-steps send how far the weights moved."""
        return self.rate / capacity if self.steps == 1 else 1.0


def features_of(kind: str, images: npt.NDArray[np.uint8], cache: Path | None) -> npt.NDArray[np.float16]:
    """Public per-record features of every image, before the constant and the scaling."""
    if cache is not None and cache.exists():
        kept: npt.NDArray[np.float16] = np.load(cache, mmap_mode="r")
        return kept
    feature_map, parts = FEATURES[kind], []
    for first in range(0, len(images), CACHE_CHUNK):
        chunk = images[first : first + CACHE_CHUNK].astype(np.float32) / 255.0
        parts.append(feature_map(chunk).astype(np.float16))
    features = np.concatenate(parts)
    if cache is not None:
        np.save(cache, features)
    return features


def silos_of(
    features: npt.NDArray[np.float16], labels: npt.NDArray[np.int64], seed: int, *, validate: bool
) -> tuple[list[Records], Records]:
    """An iid split of the training records over the silos; those held out are the same for all seeds."""
    order = SeededRandom(0).derive("held out").permutation(len(labels))
    test, train = np.split(order, [SILOS * TEST])
    if validate:
        test, train = np.split(train, [len(train) // 5])
    dealt = train[SeededRandom(seed).derive("partition").permutation(len(train))]
    silos = [bounded(features[rows], labels[rows]) for rows in np.sort(dealt.reshape(SILOS, -1))]
    return silos, bounded(features[np.sort(test)], labels[np.sort(test)])


def bounded(features: npt.NDArray[np.float16], labels: npt.NDArray[np.int64]) -> Records:
    """Appends the constant feature and scales each record to norm 1."""
    parts = [
        scale_to_norm(with_constant(features[first : first + CACHE_CHUNK].astype(np.float64)), 1.0)
        for first in range(0, len(labels), CACHE_CHUNK)
    ]
    return Records(np.concatenate(parts), labels)


def noise_multiplier(settings: Settings) -> float:
    """Central standard deviation over sensitivity, for all rounds together."""
    return calibrate(
        lambda z: Repeated(Release(GaussianNoise(z), 1.0, 1), settings.rounds),
        epsilon=settings.epsilon,
        delta=settings.delta,
        lower=0.5,
        upper=1000.0,
    )


def accuracy(silos: list[Records], held_out: Records, settings: Settings, z: float, seed: int) -> float:
    """Trains for all rounds and returns the accuracy of the last model."""
    capacity = len(silos[0])
    kind = settings.local_training(capacity)
    model = LinearHead(math.prod(held_out.features.shape[1:]), 10)
    rule = MomentumConfig(
        kind="momentum", learning_rate=settings.server_rate(capacity), momentum=settings.momentum
    )
    parameters = flatten(model)
    state = rule.init(len(parameters))
    noise = np.random.default_rng([seed, 7])
    for number in range(settings.rounds):
        total = noise.normal(scale=z * kind.l2_sensitivity(), size=len(parameters))
        for index, records in enumerate(silos):
            coins = SeededRandom(seed).derive("silo", index, "round", number)
            total += local_update(kind, model, parameters, records, coins).vector
        state, parameters = rule.step(state, parameters, total / SILOS, settings.rounds)
    load_flat(model, parameters)
    return evaluation(logits(model, held_out), held_out.labels).accuracy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--features", choices=tuple(FEATURES), default="pixels")
    parser.add_argument("--cache", type=Path, help="file in which the features of all images are kept")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--steps", type=int, default=176, help="1 is single-step training")
    parser.add_argument("--rate", type=float, default=1.35, help="per mean gradient of an expected batch")
    parser.add_argument("--momentum", type=float, default=0.7)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--clip-norm", type=float, default=0.5, help="for a single step")
    parser.add_argument("--cap", type=float, default=1.0, help="of the residuals of stable-steps")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--validate", action="store_true", help="hold out training records, for tuning")
    args = parser.parse_args()
    settings = Settings(
        args.rounds,
        args.steps,
        args.rate,
        args.momentum,
        args.epsilon,
        clip_norm=args.clip_norm,
        cap=args.cap,
    )
    z = noise_multiplier(settings)
    spent = epsilon(Repeated(Release(GaussianNoise(z), 1.0, 1), settings.rounds), delta=settings.delta)
    with np.load(args.data_dir / "fashion_mnist.npz") as arrays:
        images = np.concatenate([arrays["x_train"], arrays["x_test"]])
        labels = np.concatenate([arrays["y_train"], arrays["y_test"]]).astype(np.int64)
    features = features_of(args.features, images, args.cache)
    results = []
    for seed in range(args.seeds):
        silos, held_out = silos_of(features, labels, seed, validate=args.validate)
        results.append(100 * accuracy(silos, held_out, settings, z, seed))
        print(f"seed {seed}: {results[-1]:.2f} %", flush=True)
    error = np.std(results, ddof=1) / math.sqrt(len(results)) if len(results) > 1 else math.nan
    print(f"{settings}\nnoise multiplier {z:.3f}, {spent}\naccuracy {np.mean(results):.2f} ± {error:.2f} %")


if __name__ == "__main__":
    main()
