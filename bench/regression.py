"""Private regressions beside what knows no privacy and beside a constant: R² and mean absolute error.

    DISCREET_DATA=... python bench/regression.py --seeds 10

Diabetes is the 442 patients that ship with scikit-learn, dealt to three silos; what is predicted is the
progression of the disease after a year. Adult is its own training records, dealt to ten; what is predicted is
the hours of work a week. No setting was chosen by them: ours are those of untuned stable-steps. Every seed
deals the records anew and holds a quarter out; errors are of these. Ridge and Huber see the same features of
all training records in one place, without privacy; the constants are the mean (R²) and the median (error).
"""

from __future__ import annotations

import argparse
import csv
import gzip
import math
import os
import statistics
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import HuberRegressor, Ridge
from sklearn.metrics import mean_absolute_error, r2_score

from discreet import Config, load_model
from discreet.config.federation import federation_of
from discreet.data.labels import Outcome
from discreet.engines.local import run

Scores = dict[str, tuple[float, float]]

# Public knowledge: what a physician expects of adults, and not what these records hold.
DIABETES = {
    "label": "progression",
    "label_range": [0, 350],
    "ranges": {
        "age": [18, 85],
        "bmi": [15, 45],
        "bp": [60, 140],
        "s1": [80, 320],
        "s2": [30, 250],
        "s3": [20, 100],
        "s4": [1, 10],
        "s5": [3, 7],
        "s6": [50, 140],
    },
    "categories": {"sex": ["1", "2"]},
    "partition": {"kind": "iid", "silos": 3},
    "record_capacity": 140,
}
ADULT = {
    "label": "hours_per_week",
    "label_range": [1, 99],
    "ranges": {"age": [17, 90], "education_num": [1, 16]},
    "categories": {
        "workclass": ["Federal-gov", "Local-gov", "Private", "Self-emp-inc", "Self-emp-not-inc", "State-gov"],
        "marital_status": ["Divorced", "Married-civ-spouse", "Never-married", "Separated", "Widowed"],
        "relationship": ["Husband", "Not-in-family", "Other-relative", "Own-child", "Unmarried", "Wife"],
        "sex": ["Female", "Male"],
        "label": ["0", "1"],
    },
    "drop": [
        "split", "fnlwgt", "education", "native_country", "income", "occupation", "race", "capital_gain",
        "capital_loss",
    ],
    "partition": {"kind": "iid", "silos": 10},
    "record_capacity": 2600,
}  # fmt: skip


def diabetes(folder: Path) -> Path:
    """Writes the table that ships with scikit-learn, and returns where."""
    found, path = load_diabetes(scaled=False), folder / "diabetes.csv"
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow([*found.feature_names, "progression"])
        for row, target in zip(found.data.tolist(), found.target.tolist(), strict=True):
            cells = dict(zip(found.feature_names, row, strict=True))
            table.writerow([*(cells | {"sex": int(cells["sex"])}).values(), target])
    return path


def adult(folder: Path) -> Path:
    """Writes Adult's own training records, and returns where."""
    path = folder / "adult.csv"
    with gzip.open(Path(os.environ["DISCREET_DATA"]) / "adult.csv.gz", "rt") as lines:
        rows = [row for row in csv.DictReader(lines) if row["split"] == "train"]
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    return path


SETS: dict[str, tuple[Callable[[Path], Path], dict[str, Any]]] = {
    "diabetes": (diabetes, DIABETES),
    "adult": (adult, ADULT),
}


def config(path: Path, data: dict[str, Any], *, epsilon: float, seed: int) -> Config:
    """Returns a training of which one silo may drop out; every setting is left to the plan."""
    silos = data["partition"]["silos"]
    return Config.model_validate(
        {
            "name": "regression",
            "data": {"source": f"csv:{path}", "split_seed": seed, **data},
            "training": {"local": {"kind": "stable-steps"}},
            "privacy": {"epsilon": epsilon, "delta": 1e-5},
            "aggregation": {"min_survivors": silos - 1 if silos > 3 else 3, "max_colluding": int(silos > 3)},
            "run": {"seed": seed},
        }
    )


def scores(right: np.ndarray, found: np.ndarray) -> tuple[float, float]:
    """Returns R² and the mean absolute error."""
    return float(r2_score(right, found)), float(mean_absolute_error(right, found))


def one_seed(path: Path, data: dict[str, Any], epsilons: list[float], seed: int) -> Scores:
    """Returns the scores of every model on the records that this seed holds out."""
    federation = federation_of(config(path, data, epsilon=1.0, seed=seed).data)
    train, test = federation.pooled_train(), federation.pooled_test()
    outcome = Outcome(*data["label_range"])
    labels, right = outcome.read_back(train.labels), outcome.read_back(test.labels)
    found = {
        "a constant": (0.0, float(np.abs(right - np.median(right)).mean())),
        "ridge, pooled, not private": scores(
            right, Ridge(alpha=0.01).fit(train.features, labels).predict(test.features)
        ),
        "Huber, pooled, not private": scores(
            right, HuberRegressor(max_iter=1000).fit(train.features, labels).predict(test.features)
        ),
    }
    for epsilon in epsilons:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "run"
            run(config(path, data, epsilon=epsilon, seed=seed), out)
            predicted = load_model(out).numbers(test.features, outcome)
        found[f"private, epsilon {epsilon:g}"] = scores(right, predicted)
    return found


def show(name: str, found: list[Scores]) -> None:
    """Prints mean and standard error of the mean, a row for each model."""
    for who in found[0]:
        cells = []
        for place, digits in ((0, 3), (1, 2)):
            values = [one[who][place] for one in found]
            error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
            cells.append(f"{statistics.mean(values):.{digits}f} ± {error:.{digits}f}")
        print(f"{name:<9} {who:<28} R² {cells[0]:<16} MAE {cells[1]}", flush=True)


def main() -> None:
    """Prints a table for each data set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.3, 1.0, 4.0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    stated = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for name in stated.sets:
            write, data = SETS[name]
            path = write(Path(folder))
            show(name, [one_seed(path, data, stated.epsilon, seed) for seed in range(stated.seeds)])


if __name__ == "__main__":
    main()
