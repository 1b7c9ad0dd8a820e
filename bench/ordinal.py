"""Levels in an order: the ordinal head beside the multi-class head at the same ε, on two real tables.

    DISCREET_DATA=... python bench/ordinal.py --seeds 10

Heart: how severe the disease is, 0 to 4, of 920 patients at four hospitals. Adult: the level of education,
five levels, from the other columns, over ten silos; 4,500 of its records. Neither head has a tuned number.
Accuracy and balanced accuracy are of the likeliest level, the error is how many levels it is off, kappa is
Cohen's with quadratic weights. The last row always names one level: the commonest, for the error the median.
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
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import balanced_accuracy_score, cohen_kappa_score

from additive import TEXTS
from discreet import Config, load_model
from discreet.engines.local import run

ALWAYS = "one level always"
MEASURES = ("accuracy", "balanced accuracy", "level error", "kappa")
LEVELS = {"heart": list("01234"), "adult": ["none", "school", "college", "bachelor", "higher"]}
HEART: dict[str, object] = {
    "label": "num",
    "ranges": {
        "age": [30, 75],
        "trestbps": [90, 180],
        "chol": [0, 400],
        "thalach": [70, 190],
        "oldpeak": [0, 3],
    },
    "categories": {
        "cp": list("1234"),
        "restecg": list("012"),
        "fbs": list("01"),
        "sex": list("01"),
        "exang": list("01"),
    },
    "missing": "indicator",
    "partition": {"kind": "column", "column": "hospital"},
    "record_capacity": {"cleveland": 260, "hungary": 260, "switzerland": 110, "long_beach_va": 180},
}
ADULT: dict[str, object] = {
    "label": "level",
    "ranges": {
        "age": [17, 90],
        "capital_gain": [0, 10000],
        "capital_loss": [0, 2500],
        "hours_per_week": [1, 99],
    },
    "categories": {name: texts.split() for name, texts in TEXTS.items()},
    "partition": {"kind": "iid", "silos": 10},
    "record_capacity": 500,
}
TABLES: dict[str, dict[str, object]] = {"heart": HEART, "adult": ADULT}


def education(number: int) -> str:
    """Returns the level of a number of Adult's column ``education_num``."""
    return LEVELS["adult"][int(np.digitize(number, [9, 10, 13, 14]))]


Row = dict[str, str]


def rows_of(task: str) -> list[Row]:
    """Returns the records of a task, in an order of their own."""
    name = {"heart": "heart_disease.csv.gz", "adult": "adult.csv.gz"}[task]
    with gzip.open(Path(os.environ["DISCREET_DATA"]) / name, "rt") as lines:
        rows = list(csv.DictReader(lines))
    return (
        rows if task == "heart" else [{**row, "level": education(int(row["education_num"]))} for row in rows]
    )


def split(
    rows: list[dict[str, str]], task: str, seed: int
) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Returns training and test records: three quarters and a quarter, or so many of Adult."""
    order = np.random.default_rng(seed).permutation(len(rows))
    train = 3 * len(rows) // 4 if task == "heart" else 4500
    test = len(rows) if task == "heart" else train + 5000
    return [rows[at] for at in order[:train]], [rows[at] for at in order[train:test]]


def config(train: Path, task: str, head: str, *, epsilon: float, seed: int) -> Config:
    """Returns a training in which every setting is left to the plan."""
    data = {"source": f"csv:{train}", "classes": LEVELS[task], "test_fraction": 0.0, **TABLES[task]}
    return Config.model_validate(
        {
            "name": f"{task}, {head}",
            "data": data,
            "model": {"name": head},
            "training": {"local": {"kind": "stable-steps"}},
            "privacy": {"epsilon": epsilon, "delta": 1e-5},
            "aggregation": {"protocol": "ideal", "min_survivors": 3},
            "run": {"seed": seed, "compare": False},
        }
    )  # fmt: skip


def measured(named: npt.NDArray[np.int64], labels: npt.NDArray[np.int64]) -> tuple[float, ...]:
    """Returns one number for each of `MEASURES`."""
    return (
        float((named == labels).mean()),
        float(balanced_accuracy_score(labels, named)),
        float(np.abs(named - labels).mean()),
        float(cohen_kappa_score(labels, named, weights="quadratic")),
    )


def trained(
    task: str, head: str, rows: list[dict[str, str]], *, epsilon: float, seed: int
) -> tuple[float, ...]:
    """Trains on some records and measures on the others."""
    own, test = split(rows, task, seed)
    stated: Any = TABLES[task]
    frame = {name: [row[name] for row in test] for name in (*stated["ranges"], *stated["categories"])}
    labels = np.array([LEVELS[task].index(row[stated["label"]]) for row in test])
    if head == ALWAYS:
        commonest = np.full(len(labels), np.bincount(labels).argmax())
        median = np.full(len(labels), int(np.median(labels)))
        first, second = measured(commonest, labels), measured(median, labels)
        return (*first[:2], second[2], 0.0)
    with tempfile.TemporaryDirectory() as folder:
        train = Path(folder) / "train.csv"
        with train.open("w", newline="") as target:
            writer = csv.DictWriter(target, list(own[0]))
            writer.writeheader()
            writer.writerows(own)
        run(config(train, task, head, epsilon=epsilon, seed=seed), Path(folder) / "run")
        found = load_model(Path(folder) / "run").predict_proba(frame)
    return measured(found.argmax(axis=1), labels)


def show(who: str, found: list[tuple[float, ...]]) -> None:
    """Prints the mean and the standard error of the mean of every measure."""
    cells = []
    for values in zip(*found, strict=True):
        error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
        cells.append(f"{statistics.mean(values):.3f} ± {error:.3f}")
    print(f"{who:<34} " + "  ".join(cells), flush=True)


def main() -> None:
    """Prints a row for each table, ε and head."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.3, 1.0, 4.0])
    parser.add_argument("--task", choices=tuple(TABLES), action="append")
    stated = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{stated.seeds} seeds: " + ", ".join(MEASURES))
    for task in stated.task or TABLES:
        rows = rows_of(task)
        runs = [(head, epsilon) for epsilon in stated.epsilon for head in ("ordinal", "logistic")]
        for head, epsilon in (*runs, (ALWAYS, math.nan)):
            seeds = range(stated.seeds)
            found = [trained(task, head, rows, epsilon=epsilon, seed=seed) for seed in seeds]
            show(f"{task}, ε = {epsilon:g}, {head}", found)


if __name__ == "__main__":
    main()
