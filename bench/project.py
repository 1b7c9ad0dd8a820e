"""What centring and a private PCA are worth, beside a PCA without privacy, and records as they are read.

    python bench/project.py --task heart --components 6 --seeds 10
    DISCREET_DATA=... python bench/project.py --task medical --components 128 --share 0.3 --seeds 5

Accuracy in percent on records that are held out. Settings are those that the plan works out; components and
share were stated beforehand, or for CIFAR by scores of a simulation on records behind the first 12,000, which
are in no run here. Test sets are left alone. Seeds draw the split, the silos and the noise, and
differences are between trainings of one seed. A PCA without privacy costs nothing here: its directions are
those of the training records, and its training has the whole budget.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from discreet.arrays import Floats
from discreet.config import Config, parse_config
from discreet.config.federation import federation_of
from discreet.engines.local import run
from discreet.kinds.blocks import FirstMoments, SecondMoments
from discreet.plan.preparation import BlockSum
from discreet.plan.projecting import Projecting
from discreet.statistics.contribution import block_sum

_SILOS, _HELD_OUT = 5, 0.25
# Of the budget, where directions have no noise: what a release of 0 would leave.
_NOTHING = 1e-6

HEART: dict[str, Any] = {
    "source": "heart-disease",
    "record_capacity": {"cleveland": 260, "hungary": 225, "switzerland": 50, "long_beach_va": 120},
}
ARCHIVES = {
    "medical": "medical_abstracts_minilm384",
    "cifar": "cifar10_resnet56_feat256",
    "mnist": "mnist",
    "fashion": "fashion_mnist",
}


def records(task: str, most: int, folder: Path) -> dict[str, Any]:
    """Returns the table ``data`` of a task; of an archive, at most so many of its training records."""
    if task == "heart":
        return HEART
    with np.load(Path(os.environ["DISCREET_DATA"]) / f"{ARCHIVES[task]}.npz") as found:
        if "scale" in found:
            features, labels = found["q_train"] * found["scale"], found["y_train"]
        else:
            features, labels = (found[name if name in found else f"{name}_train"] for name in "xy")
    kept = np.random.default_rng(0).permutation(len(features))[:most]
    path = folder / f"{task}.npz"
    np.savez(path, x=features[kept], y=labels[kept].astype(np.int64))
    return {
        "source": f"npz:{path}",
        "num_classes": int(labels.max()) + 1,
        "pixels": features.dtype == np.uint8,
        "feature_norm_bound": 1.0,
        "partition": {"kind": "iid", "silos": _SILOS},
        "record_capacity": math.ceil(len(kept) * (1.0 - _HELD_OUT) / _SILOS * 1.1),
    }


@dataclass(frozen=True)
class Setting:
    """One row: the records, the target, and what is stated of a preparation, if anything."""

    data: dict[str, Any]
    epsilon: float
    prepares: dict[str, Any]

    def config(self, seed: int) -> Config:
        """Returns the config of one training."""
        return parse_config(
            {
                "data": self.data | self.prepares | {"split_seed": seed, "test_fraction": _HELD_OUT},
                "training": {"local": {"kind": "stable-steps"}},
                "privacy": {"epsilon": self.epsilon, "delta": 1e-5},
                "aggregation": {"protocol": "ideal"},
                "run": {"seed": seed, "compare": False},
            }
        )

    def accuracy(self, seed: int) -> float:
        """Trains once and returns the accuracy on held-out records, in percent."""
        with tempfile.TemporaryDirectory() as folder:
            return float(100 * run(self.config(seed), Path(folder) / "run").metrics["accuracy"])


@contextmanager
def without_noise(config: Config) -> Iterator[None]:
    """Takes middle and directions from the training records themselves, and not from what is released."""
    train = federation_of(config.data).pooled_train()
    width = train.features.shape[1]
    sums = [
        BlockSum(block_sum(block, train.features, train.labels, None), 1e-12)
        for block in (FirstMoments(width, 1.0), SecondMoments(width, 1.0))
    ]
    own = Projecting.found

    def exact(kind: Projecting, _: Sequence[BlockSum]) -> Floats:
        return own(kind, sums)

    with patch.object(Projecting, "found", exact):
        yield


def shown(found: list[float]) -> str:
    """Returns the mean and the standard error of the mean."""
    error = statistics.stdev(found) / math.sqrt(len(found)) if len(found) > 1 else math.nan
    return f"{statistics.mean(found):.1f} ± {error:.1f}"


def main() -> None:
    """Prints the accuracy of each way, and its difference to training on records as they are read."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", choices=["heart", *ARCHIVES], default="heart")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 0.3])
    parser.add_argument("--components", type=int, nargs="*", default=[])
    parser.add_argument("--share", type=float, default=0.3, help="of projections; centring gets 0.1")
    stated = parser.parse_args()
    warnings.simplefilter("ignore")
    seeds = range(1, 1 + stated.seeds)
    with tempfile.TemporaryDirectory() as folder:
        data = records(stated.task, stated.records, Path(folder))
        for epsilon in stated.epsilon:
            before = [Setting(data, epsilon, {}).accuracy(seed) for seed in seeds]
            row = f"{stated.task}, epsilon {epsilon:g}"
            print(f"{row}: as read {shown(before)}", flush=True)
            for name, own in ways(stated.components, stated.share):
                setting, found = Setting(data, epsilon, own), []
                for seed in seeds:
                    exact = without_noise(setting.config(seed)) if "without" in name else nullcontext()
                    with exact:
                        found.append(setting.accuracy(seed))
                more = [a - b for a, b in zip(found, before, strict=True)]
                print(f"{row}: {name} {shown(found)}, difference {shown(more)}", flush=True)


def ways(components: Sequence[int], share: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields what is stated of a preparation, each with its name."""
    yield "centred", {"centre": {"kind": "private", "share": 0.1}}
    for count in components:
        pca = {"kind": "private-pca", "components": count}
        yield f"{count} directions", {"project": pca | {"share": share}}
        yield f"{count} directions without privacy", {"project": pca | {"share": _NOTHING}}


if __name__ == "__main__":
    main()
