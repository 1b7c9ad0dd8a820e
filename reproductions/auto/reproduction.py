"""Settings from public numbers alone beside a grid's: chosen on validation records, and in hindsight."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import coded_tables
import subsets
from acs_income import features as acs_income
from discreet.config import Config, parse_config
from discreet.engines.local import prepare
from discreet.errors import ConfigurationError
from discreet.plan import Plan
from reproducing import Cell, Computed, Context, Deferred, Scale, Score, accuracy, changed, score

EPSILONS = {Scale.SMALL: (1.0,), Scale.FULL: (0.3, 1.0, 4.0)}
# Multiples of the middle learning rate, residual caps, momentum; with momentum the rate is lower by as much.
GRID = {
    Scale.SMALL: tuple(product((0.3, 1.0, 3.0), (0.5,), (0.0,))),
    Scale.FULL: tuple(product((0.3, 1.0, 3.0), (0.25, 0.5, 1.0), (0.0, 0.5))),
}
HOSPITALS = {"cleveland": 260, "hungary": 225, "switzerland": 50, "long_beach_va": 120}
REGIONS = {"Northeast": 120, "South": 75, "Midwest": 65, "West": 60, "Europe": 15, "Canada": 5}
Setting = tuple[float, float, float]
Prepare = Callable[[Any, Path, int], Path]


@dataclass(frozen=True)
class Task:
    """Records that everybody may have, what is publicly known of them, and over which seeds full scale goes.

    ``prepare`` makes the file that a config names, of every ``every``-th record; None where the source is
    bundled. ``file`` is what it is made from, if that is in the data folder.
    """

    data: dict[str, Any]
    seeds: tuple[int, ...]
    file: str = ""
    prepare: Prepare | None = None
    every: int = 10

    def config(self, epsilon: float, source: Path | None, folder: Path) -> Config:
        """The training with nothing tuned."""
        made = {} if self.prepare is None else {"source": f"npz:{self.prepare(source, folder, self.every)}"}
        return parse_config(
            {
                "data": {"test_fraction": 0.25} | self.data | made,
                "training": {"local": {"kind": "stable-steps"}},
                "privacy": {"epsilon": epsilon, "delta": 1e-5, "against": "outsiders"},
                "aggregation": {"protocol": "ideal"},
                "run": {"seed": 1},
            }
        )


def folds(silos: int, capacity: int, classes: int) -> dict[str, Any]:
    """Records without silos of their own, dealt out by public coins."""
    own = {"partition": {"kind": "iid", "silos": silos}, "record_capacity": capacity}
    return {"feature_norm_bound": 1.0, "num_classes": classes} | own


IMAGES = folds(10, 600, 10)
REGIONAL = {"record_capacity": REGIONS, "feature_norm_bound": 1.0, "num_classes": 2}
FASHION, DIGITS_FILE = "fashion_mnist.npz", "mnist.npz"
# The last four were never looked at while the rule was found, nor was a set from their sources.
TASKS = {
    "heart": Task({"source": "heart-disease", "record_capacity": HOSPITALS}, (1, 2, 3, 4, 5)),
    "MNIST": Task(IMAGES, (1, 2), DIGITS_FILE, subsets.images),
    "Fashion-MNIST": Task(IMAGES, (1, 2), FASHION, subsets.images),
    "CIFAR-10 features": Task(IMAGES, (1, 2), "cifar10_resnet56_feat256.npz", subsets.cifar_features),
    "MNIST scattering": Task(IMAGES, (1, 2), DIGITS_FILE, subsets.scattered_images),
    "Fashion-MNIST scattering": Task(IMAGES, (1, 2), FASHION, subsets.scattered_images),
    "Adult": Task(folds(10, 500, 2), (1, 2), "adult.csv.gz", coded_tables.adult, 8),
    "ACS Income": Task(folds(10, 600, 2), (1, 2), "acs_income_2018.csv.gz", acs_income, 200),
    "TCGA": Task(REGIONAL, (1, 2, 3, 4, 5), "tcga_brca.csv.gz", coded_tables.tcga),
    "vowels": Task(folds(10, 450, 2), (1, 2), "shakespeare_roles.csv.gz", coded_tables.vowels, 1),
    "breast cancer": Task(folds(4, 130, 2), (1, 2, 3, 4, 5), prepare=coded_tables.breast_cancer),
    "wine": Task(folds(3, 60, 3), (1, 2, 3, 4, 5), prepare=coded_tables.wine),
    "digits": Task(
        {"source": "digits", "partition": {"kind": "iid", "silos": 10}, "record_capacity": 160}, (1, 2, 3)
    ),
}
NAMES = {Scale.SMALL: ("heart",), Scale.FULL: tuple(TASKS)}
Method = Callable[[list[Config], Scale], Score]


def cells(context: Context) -> Iterator[Cell | Deferred]:
    """For each task and ε: the rule, and the grid's settings."""
    for (name, task), epsilon in product(TASKS.items(), EPSILONS[context.scale]):
        if name not in NAMES[context.scale]:
            continue
        for method, train in METHODS[context.scale].items():
            cell = f"{name}, ε = {epsilon:g}, {method}"
            compute = partial(computed, cell, task, epsilon, train, context.scale)
            if task.file:
                yield context.from_file(cell, task.file, compute)
            else:
                yield Deferred(cell, compute)


def computed(  # noqa: PLR0917 - the file comes last, from the context
    cell: str, task: Task, epsilon: float, train: Method, scale: Scale, source: Path | None = None
) -> Computed:
    """The mean accuracy over the seeds; a seed also holds out, deals and draws."""
    seeds = task.seeds if scale is Scale.FULL else task.seeds[:1]
    with TemporaryDirectory() as folder:
        config = task.config(epsilon, source, Path(folder))
        result = train([seeded(config, seed) for seed in seeds], scale)
    return Computed(cell, ours=result.mean, note=result.note)


def by_rule(configs: list[Config], scale: Scale) -> Score:  # noqa: ARG001 - one contract for all methods
    """Nothing is chosen."""
    return score(configs)


def seeded(config: Config, seed: int) -> Config:
    """The same training with other coins, noise and held-out records."""
    return changed(config, {"run.seed": seed, "data.split_seed": seed})


def by_grid(configs: list[Config], scale: Scale) -> Score:
    """Trains with the setting that is best on a part of the training records; refused ones are left out."""
    return Score(tuple(_chosen(config, scale) for config in configs))


def _chosen(config: Config, scale: Scale) -> float:
    with TemporaryDirectory() as folder:
        validating = changed(config, {"data": validation(config, Path(folder))})
        found = {setting: tried((validating,), setting) for setting in GRID[scale]}
    best = max(GRID[scale], key=lambda setting: _mean(found[setting]))
    return accuracy(tuned(config, best))


def by_hindsight(configs: list[Config], scale: Scale) -> Score:
    """The one setting with the best mean on the very records held out: nobody could know it beforehand."""
    found = (tried(configs, setting) for setting in GRID[scale])
    return max(filter(None, found), key=_mean)


def _mean(found: Score | None) -> float:
    return -math.inf if found is None else found.mean


def tried(configs: Sequence[Config], setting: Setting) -> Score | None:
    """The accuracies of one setting; None if it is refused."""
    try:
        return score(tuned(config, setting) for config in configs)
    except ConfigurationError:
        return None


METHODS: dict[Scale, dict[str, Method]] = {
    Scale.SMALL: {"rule": by_rule, "grid": by_grid},
    Scale.FULL: {"rule": by_rule, "grid": by_grid, "hindsight": by_hindsight},
}


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
    plan = prepare(config).plan
    rule = plan.training
    rate = factor * middle(plan) * (1.0 - momentum)
    local = rule.local.model_dump()
    return changed(
        config,
        {
            "training.rounds": rule.planned_rounds,
            "training.local": local | {"learning_rate": rate, "residual_cap": cap},
            "training.server": {"kind": "momentum", "momentum": momentum},
        },
    )


def middle(plan: Plan) -> float:
    """The learning rate at which all rounds' noise moves a logit by 1; the cap is 0.5 (two classes) or 0.35.

    It is that of an earlier rule, and stays, so that the grid does not move with the rule that it judges.
    """
    outputs, norm = plan.facts.outputs, plan.facts.feature_norm_bound or 1.0
    lipschitz = norm * (0.5 if outputs == 1 else 0.35 * math.sqrt(2))
    return len(plan.facts.silos) / (plan.noise_multiplier * lipschitz * norm * math.sqrt(plan.rounds))
