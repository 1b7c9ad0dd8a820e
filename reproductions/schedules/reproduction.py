"""Many local steps a round or few, at fixed rounds and at fixed epochs, under local or summed noise."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import subsets
from discreet.accounting import calibrate
from discreet.config import Config, load_config
from discreet.privacy.events import GaussianNoise, PoissonSampling, Release, Repeated
from reproducing import Cell, Computed, Context, Deferred, Scale, accuracy, changed, score

FEATURES = "cifar10_resnet56_feat256.npz"
RECORDS, EPOCH, DELTA = 5000, 20, 1e-5
ROUNDS, EPOCHS = 5, 20
# Local steps a round, 20 to an epoch, and rounds. At fixed rounds: one step, 1 to 20 epochs; then E·R = 20.
FIXED_ROUNDS = ((1, ROUNDS), *((epochs * EPOCH, ROUNDS) for epochs in (1, 2, 4, 10, 20)))
FIXED_EPOCHS = tuple((epochs * EPOCH, EPOCHS // epochs) for epochs in (1, 2, 4, 5, 10, 20))
DIGITS = ((1, ROUNDS), (EPOCH, ROUNDS), (EPOCH, EPOCHS), (EPOCHS * EPOCH, 1))
NOISES = ("local", "summed")


@dataclass(frozen=True)
class Federation:
    """Silos of so many records at a budget, with δ = 1e-5."""

    silos: int
    records: int
    epsilon: float


@dataclass(frozen=True)
class Schedule:
    """So many noisy steps a round, for so many rounds, and whose noise the (ε, δ) counts."""

    noise: str
    steps: int
    rounds: int

    @property
    def name(self) -> str:
        """(E, R), E the epochs of a round."""
        epochs = "one step" if self.steps == 1 else f"{self.steps // EPOCH}"
        return f"{self.noise} noise, ({epochs}, {self.rounds})"

    def changes(self, federation: Federation, rate: float) -> dict[str, Any]:
        """Settings of this schedule; ``rate`` is per mean gradient of a batch.

        Several steps are proven at the silo's own noise; that the noise of all adds up holds CONDITIONALLY.
        For one step it is the sum that the plan proves, so what a silo needs alone is worked out here.
        """
        per_record = rate / (federation.records / EPOCH)
        found: dict[str, Any] = {
            "training.rounds": self.rounds,
            "training.local": {"kind": "noisy-steps", "learning_rate": per_record, "steps": self.steps},
            "privacy.epsilon": federation.epsilon,
        }
        if self.noise == "summed" and self.steps > 1:
            found["privacy.accept_assumptions"] = ["independent-local-state"]
        if self.noise == "local" and self.steps == 1:
            found |= {"privacy.epsilon": None, "privacy.noise_multiplier": self._alone(federation)}
        return found

    def _alone(self, federation: Federation) -> float:
        """The sum's noise over the clip norm at which one silo's share alone meets the budget."""

        def event(multiplier: float) -> Repeated:
            release = Release(GaussianNoise(multiplier), 1.0, 1, PoissonSampling(1.0 / EPOCH))
            return Repeated(release, self.steps * self.rounds)

        share = calibrate(event, epsilon=federation.epsilon, delta=DELTA, lower=0.1, upper=50.0)
        return math.sqrt(federation.silos) * share


@dataclass(frozen=True)
class Head:
    """A model, the rates that validation chooses among, and how much of the table is run."""

    model: str
    rates: tuple[float, ...]
    seeds: tuple[int, ...]
    most_epochs: int
    data: dict[str, Any]


LINEAR = Head(
    "logistic", (0.5, 2.0, 8.0, 30.0, 120.0, 480.0), (1, 2, 3), 100, {"data.feature_norm_bound": 1.0}
)
NETWORK = Head("mlp", (0.3, 1.0, 3.0, 10.0), (1, 2), 20, {})
HEADS = {"linear": LINEAR, "network": NETWORK}
FULL = Federation(10, RECORDS, 1.0)
# Validation takes a fifth of the training records away.
PROXY = Federation(10, RECORDS * 4 // 5, 1.0)
SMALL = Federation(3, 480, 8.0)


def cells(context: Context) -> Iterator[Cell | Deferred]:
    """A linear model on the bundled digits at small scale; at full scale both models, all schedules."""
    if context.scale is Scale.SMALL:
        yield from digits(context)
        return
    for (model, head), schedule in product(HEADS.items(), schedules()):
        if schedule.steps * schedule.rounds <= head.most_epochs * EPOCH:
            name = f"{model}, {schedule.name}"
            yield context.from_file(name, FEATURES, partial(trained, name, context, head, schedule))


def schedules() -> Iterator[Schedule]:
    """Both comparisons under both noises; what the comparisons share stands once."""
    for noise, (steps, rounds) in product(NOISES, dict.fromkeys((*FIXED_ROUNDS, *FIXED_EPOCHS))):
        yield Schedule(noise, steps, rounds)


def trained(name: str, context: Context, head: Head, schedule: Schedule, source: Path) -> Computed:
    """The mean over seeds at the rate that is best on a fifth of the training records under seed 1."""
    config = changed(load_config(context.folder / "silos.toml"), head.data | {"model.name": head.model})
    with TemporaryDirectory() as folder:
        whole = subsets.cifar_features(source, Path(folder), every=1)
        proxy = dealt(config, validation(whole), PROXY)
        found = {rate: accuracy(changed(proxy, schedule.changes(PROXY, rate))) for rate in head.rates}
        best = max(found, key=lambda rate: found[rate])
        final = changed(dealt(config, whole, FULL), schedule.changes(FULL, best))
        result = score(changed(final, {"run.seed": seed, "data.split_seed": seed}) for seed in head.seeds)
    return Computed(name, reproduced=result.mean, note=f"{result.note}; rate {best:g}")


def dealt(config: Config, file: Path, federation: Federation) -> Config:
    """The config over the records of a file."""
    return changed(config, {"data.source": f"npz:{file}", "data.record_capacity": federation.records})


def validation(whole: Path) -> Path:
    """Writes the training records alone, every fifth of them in place of the test records."""
    with np.load(whole, allow_pickle=False) as arrays:
        features, labels = arrays["x_train"], arrays["y_train"]
    test = np.arange(len(labels)) % 5 == 0
    path = whole.with_name("validation.npz")
    np.savez(path, x_train=features[~test], y_train=labels[~test], x_test=features[test], y_test=labels[test])
    return path


def digits(context: Context) -> Iterator[Cell]:
    """Both ends of both comparisons on three silos of bundled digits, at one rate: the machinery only."""
    config = load_config(context.folder / "digits.toml")
    for noise, (steps, rounds) in product(NOISES, DIGITS):
        schedule = Schedule(noise, steps, rounds)
        found = accuracy(changed(config, schedule.changes(SMALL, rate=8.0)))
        yield Computed(f"digits, {schedule.name}", reproduced=found)
