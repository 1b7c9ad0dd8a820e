"""Settings from public numbers alone beside settings that a grid chose on validation records."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import subsets
from discreet.config import Config, parse_config
from discreet.engines.local import prepare
from discreet.errors import ConfigurationError
from reproducing import Cell, Computed, Context, Deferred, Scale, Score, accuracy, changed

EPSILONS = {Scale.SMALL: (1.0,), Scale.FULL: (0.3, 1.0, 4.0)}
# Multiples of the rule's learning rate, residual caps, momentum; with momentum the rate is lower by as much.
GRID = {
    Scale.SMALL: tuple(product((0.3, 1.0, 3.0), (0.5,), (0.0,))),
    Scale.FULL: tuple(product((0.3, 1.0, 3.0), (0.25, 0.5, 1.0), (0.0, 0.5))),
}
EVERY = 10
FOLDS: dict[str, Any] = {"partition": {"kind": "iid", "silos": 10}, "feature_norm_bound": 1.0}
HOSPITALS = {"cleveland": 260, "hungary": 225, "switzerland": 50, "long_beach_va": 120}
Setting = tuple[float, float, float]


@dataclass(frozen=True)
class Task:
    """Records that everybody may have, what is publicly known of them, and over which seeds full scale goes.

    ``file`` and how a part of it is prepared only if they are not bundled.
    """

    data: dict[str, Any]
    seeds: tuple[int, ...]
    file: str = ""
    prepare: Callable[[Path, Path, int], Path] = subsets.images

    def config(self, epsilon: float, source: str) -> Config:
        """The training with nothing tuned."""
        return parse_config(
            {
                "data": {"source": source, "test_fraction": 0.25} | self.data,
                "training": {"local": {"kind": "stable-steps"}},
                "privacy": {"epsilon": epsilon, "delta": 1e-5, "against": "outsiders"},
                "aggregation": {"protocol": "ideal"},
                "run": {"seed": 1},
            }
        )


IMAGES = FOLDS | {"num_classes": 10, "record_capacity": 600}
TASKS = {
    "heart": Task({"source": "heart-disease", "record_capacity": HOSPITALS}, (1, 2, 3, 4, 5)),
    "MNIST": Task(IMAGES, (1, 2), "mnist.npz"),
    "Fashion-MNIST": Task(IMAGES, (1, 2), "fashion_mnist.npz"),
    "CIFAR-10 features": Task(IMAGES, (1, 2), "cifar10_resnet56_feat256.npz", subsets.cifar_features),
}
NAMES = {Scale.SMALL: ("heart",), Scale.FULL: tuple(TASKS)}


def cells(context: Context) -> Iterator[Cell | Deferred]:
    """For each task and ε: the rule, and the grid."""
    for (name, task), epsilon in product(TASKS.items(), EPSILONS[context.scale]):
        if name not in NAMES[context.scale]:
            continue
        for method, train in (("rule", by_rule), ("grid", by_grid)):
            cell = f"{name}, ε = {epsilon:g}, {method}"
            compute = partial(computed, cell, task, epsilon, train, context.scale)
            if task.file:
                yield context.from_file(cell, task.file, compute)
            else:
                yield Deferred(cell, compute)


def computed(  # noqa: PLR0917 - the file comes last, from the context
    cell: str,
    task: Task,
    epsilon: float,
    train: Callable[[Config, Scale], float],
    scale: Scale,
    source: Path | None = None,
) -> Computed:
    """The mean accuracy over the seeds; a seed also holds out, deals and draws."""
    seeds = task.seeds if scale is Scale.FULL else task.seeds[:1]
    with TemporaryDirectory() as folder:
        named = "" if source is None else f"npz:{task.prepare(source, Path(folder), EVERY)}"
        config = task.config(epsilon, named)
        result = Score(tuple(train(seeded(config, seed), scale) for seed in seeds))
    return Computed(cell, ours=result.mean, note=result.note)


def by_rule(config: Config, scale: Scale) -> float:  # noqa: ARG001 - one contract for both methods
    """Nothing is chosen."""
    return accuracy(config)


def seeded(config: Config, seed: int) -> Config:
    """The same training with other coins, noise and held-out records."""
    return changed(config, {"run.seed": seed, "data.split_seed": seed})


def by_grid(config: Config, scale: Scale) -> float:
    """Trains with the setting that is best on a part of the training records; refused ones are left out."""
    with TemporaryDirectory() as folder:
        validating = changed(config, {"data": validation(config, Path(folder))})
        found: dict[Setting, float] = {}
        for setting in GRID[scale]:
            try:
                found[setting] = accuracy(tuned(validating, setting))
            except ConfigurationError:
                continue
    return accuracy(tuned(config, max(found, key=lambda setting: found[setting])))


def validation(config: Config, folder: Path) -> dict[str, Any]:
    """Writes the training records alone; a part of them is held out in place of the test records."""
    federation = prepare(config).federation
    train = {silo.name: silo.train for silo in federation.silos}
    path = folder / "train.npz"
    np.savez(
        path,
        x=np.concatenate([records.features for records in train.values()]),
        y=np.concatenate([records.labels for records in train.values()]),
        silo=np.concatenate([np.full(len(records.labels), name) for name, records in train.items()]),
    )
    capacity = config.data.record_capacity
    return {
        "source": f"npz:{path}",
        "num_classes": federation.num_classes,
        "feature_norm_bound": federation.feature_norm_bound,
        "record_capacity": capacity if isinstance(capacity, int) else dict(capacity or {}),
        "test_fraction": 0.25,
        "split_seed": config.data.split_seed,
    }


def tuned(config: Config, setting: Setting) -> Config:
    """The config with the numbers of a grid's setting."""
    factor, cap, momentum = setting
    rule = prepare(config).plan.training
    local = rule.local.model_dump()
    rate = factor * local["learning_rate"] * (1.0 - momentum)
    return changed(
        config,
        {
            "training.rounds": rule.planned_rounds,
            "training.local": local | {"learning_rate": rate, "residual_cap": cap},
            "training.server": {"kind": "momentum", "momentum": momentum},
        },
    )
