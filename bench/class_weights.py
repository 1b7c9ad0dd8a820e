"""An imbalanced task without weights of classes, with public and with private ones: recall, accuracies, area.

    DISCREET_DATA=... python bench/class_weights.py --seeds 5

Adult with so few of the records above 50,000 dollars that one record in twenty is, in training and in test
alike; ten silos, bins and settings as in bench/additive.py. That one in twenty is taken for publicly known.
Without weights a second row names a record from a probability of 1/20 on, which needs no training at all.
`--reach` multiplies the learning rate that the plan works out, which does not look at the weights. Private
weights are those of noisy counts, which get 5 % of the budget. `--only` takes some of the rows.
"""

from __future__ import annotations

import argparse
import csv
import math
import random
import statistics
import tempfile
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import balanced_accuracy_score, recall_score, roc_auc_score

from additive import RANGES, TEXTS, config, files
from discreet import Config, load_model
from discreet.engines.local import prepare, run
from discreet.kinds import StableStepsConfig
from discreet.kinds.preparation import ClassWeightsConfig
from discreet.kinds.weighted import weights_text

SHARE = 1 / 20
Weights = tuple[float, float] | ClassWeightsConfig | None
ROWS: dict[str, Weights] = {
    "none": None,
    "5": (1.0, 5.0),
    "19": (1.0, 19.0),
    "private": ClassWeightsConfig(kind="private"),
}
MEASURES = ("recall", "balanced accuracy", "AUC", "accuracy")


def thinned(path: Path) -> list[dict[str, str]]:
    """Returns the rows of a file with so few of class 1 that one in twenty is; the same in every call."""
    with path.open() as lines:
        rows = list(csv.DictReader(lines))
    rare = [row for row in rows if row["label"] == "1"]
    common = [row for row in rows if row["label"] == "0"]
    kept = random.Random(0).sample(rare, round(len(common) * SHARE / (1 - SHARE)))  # noqa: S311 (no secret)
    return common + kept


def weighted(train: Path, *, epsilon: float, seed: int, weights: Weights, reach: float) -> Config:
    """Returns the training of bench/additive.py with weights, at a multiple of the plan's learning rate."""
    stated = config(train, epsilon=epsilon, seed=seed, binned=True)
    local = stated.training.local.model_copy(update={"class_weights": weights})
    asked = stated.model_copy(update={"training": stated.training.model_copy(update={"local": local})})
    if reach == 1.0:
        return asked
    training = prepare(asked).plan.training
    local = training.local
    assert isinstance(local, StableStepsConfig)  # noqa: S101 (a plan holds the rate that it worked out)
    longer = local.model_copy(update={"learning_rate": reach * local.learning_rate})
    return asked.model_copy(update={"training": training.model_copy(update={"local": longer})})


def measured(
    asked: Config, test: list[dict[str, str]], thresholds: tuple[float, ...]
) -> list[tuple[float, ...]]:
    """Trains, and returns one number for each of `MEASURES` on the test records, for each threshold."""
    frame = {name: [row[name] for row in test] for name in (*RANGES, *TEXTS)}
    labels = np.array([int(row["label"]) for row in test])
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        run(asked, out)
        scores = load_model(out).predict_proba(frame)[:, 1]
    area = float(roc_auc_score(labels, scores))
    return [
        (
            float(recall_score(labels, scores >= threshold)),
            float(balanced_accuracy_score(labels, scores >= threshold)),
            area,
            float((labels == (scores >= threshold)).mean()),
        )
        for threshold in thresholds
    ]


def show(who: str, found: list[tuple[float, ...]]) -> None:
    """Prints the mean and the standard error of the mean of every measure."""
    cells = []
    for values in zip(*found, strict=True):
        error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
        cells.append(f"{statistics.mean(values):.3f} ± {error:.3f}")
    print(f"{who:<56} " + "  ".join(cells), flush=True)


def main() -> None:
    """Prints a row for each choice of weights, threshold and multiple of the learning rate."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--reach", type=float, nargs="+", default=[1.0])
    parser.add_argument("--only", choices=ROWS, nargs="+", default=list(ROWS))
    stated = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"epsilon {stated.epsilon}, {stated.seeds} seeds: " + ", ".join(MEASURES))
    with tempfile.TemporaryDirectory() as folder:
        found = files(Path(folder))
        test, train = thinned(found["test"]), Path(folder) / "thinned.csv"
        rows = thinned(found["train"])
        with train.open("w", newline="") as target:
            writer = csv.DictWriter(target, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        for weights in map(ROWS.get, stated.only):
            for reach in stated.reach:
                thresholds = (0.5, SHARE) if weights is None else (0.5,)
                each = [
                    measured(
                        weighted(train, epsilon=stated.epsilon, seed=seed, weights=weights, reach=reach),
                        test,
                        thresholds,
                    )
                    for seed in range(stated.seeds)
                ]
                named = "no weights" if weights is None else f"weights {weights_text(weights)}"
                for threshold, own in zip(thresholds, zip(*each, strict=True), strict=True):
                    show(f"{named}, from {threshold:g}, {reach:g} times the rate", list(own))


if __name__ == "__main__":
    main()
