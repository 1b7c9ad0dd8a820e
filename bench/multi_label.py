"""Several labels in one training beside a training for each label, at the same ε in all, on real records.

    DISCREET_DATA=... python bench/multi_label.py --seeds 5

Adult, four labels: an income above 50,000, married, more than 40 hours a week, self-employed; 4,500 records
to train on at ten silos, 5,000 others to test. Nothing is tuned. "composed" gives each of four trainings what
four Gaussian releases may have whose composition is (ε, δ); "divided" a quarter of ε and of δ, as without an
accountant. Accuracy, balanced accuracy and AUC are means over the labels, ± the standard error over seeds.
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
from scipy.optimize import brentq
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from additive import TEXTS
from discreet.accounting.gdp import gaussian_epsilon
from discreet.session import Frames, Target, plan_training, train

DELTA, SILOS, TRAINED, TESTED = 1e-5, 10, 4500, 5000
LABELS = ("rich", "married", "long_hours", "self_employed")
RANGES = {"age": (17.0, 90.0), "education_num": (1.0, 16.0), "capital_gain": (0.0, 1e4)}
CATEGORIES = {name: tuple(TEXTS[name].split()) for name in ("occupation", "race", "sex")}
Row = dict[str, Any]
Budget = tuple[float, float]


def rows() -> list[Row]:
    """Returns the records with their labels, in the file's order."""
    with gzip.open(Path(os.environ["DISCREET_DATA"]) / "adult.csv.gz", "rt", encoding="utf-8") as lines:
        return [row | labels_of(row) for row in csv.DictReader(lines)]


def labels_of(row: dict[str, str]) -> Row:
    """Returns 0 or 1 for each label of a record."""
    return {
        "rich": int(row["label"]),
        "married": int(row["marital_status"].startswith("Married")),
        "long_hours": int(int(row["hours_per_week"]) > 40),
        "self_employed": int(row["workclass"].startswith("Self")),
    }


def composed(epsilon: float, parts: int) -> Budget:
    """Returns the (ε, δ) of one of some Gaussian releases that together have (``epsilon``, `DELTA`)."""
    mu = brentq(lambda mu: gaussian_epsilon(mu, DELTA) - epsilon, 1e-3, 10.0)
    return gaussian_epsilon(mu / math.sqrt(parts), DELTA), DELTA


def by_column(chosen: list[Row]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in chosen] for name in (*RANGES, *CATEGORIES, *LABELS)}


def shares(own: list[Row], test: list[Row], label: Any, budget: Budget, seed: int) -> Any:
    """Trains on some records, and returns the probability of each label for the others."""
    tables = {f"silo-{number}": by_column(own[number::SILOS]) for number in range(SILOS)}
    frames = Frames(tables, label=label, ranges=RANGES, categories=CATEGORIES, test_fraction=0.0)
    epsilon, delta = budget
    plan = plan_training(frames.public(capacity=TRAINED // SILOS), target=Target(epsilon, delta))
    with tempfile.TemporaryDirectory() as folder:
        run = train(plan, frames, out=Path(folder) / "run", seed=seed)
        found = run.predict_proba(by_column(test))
    return found if label is LABELS else found[:, 1:]


def measured(found: Any, test: list[Row]) -> tuple[float, ...]:
    """Returns means over the labels."""
    each = []
    for place, label in enumerate(LABELS):
        right = np.array([row[label] for row in test])
        share = found[:, place]
        named = share > 0.5
        each.append(
            ((named == right).mean(), balanced_accuracy_score(right, named), roc_auc_score(right, share))
        )
    return tuple(float(np.mean(one)) for one in zip(*each, strict=True))


def main() -> None:
    """Prints a row for each ε and way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.3, 1.0, 4.0])
    stated = parser.parse_args()
    warnings.simplefilter("ignore")
    known, parts = rows(), len(LABELS)
    print(f"{stated.seeds} seeds: accuracy, balanced accuracy, AUC, means over {parts} labels")
    for epsilon in stated.epsilon:
        ways: dict[str, Budget] = {
            "together": (epsilon, DELTA),
            "apart, composed": composed(epsilon, parts),
            "apart, divided": (epsilon / parts, DELTA / parts),
        }
        for way, budget in ways.items():
            every = []
            for seed in range(stated.seeds):
                order = np.random.default_rng(seed).permutation(len(known))
                own = [known[at] for at in order[:TRAINED]]
                test = [known[at] for at in order[TRAINED : TRAINED + TESTED]]
                named: Any = [LABELS] if way == "together" else LABELS
                found = np.concatenate([shares(own, test, one, budget, seed) for one in named], axis=1)
                every.append(measured(found, test))
            cells = [
                f"{statistics.mean(one):.3f} ± {statistics.stdev(one) / math.sqrt(len(one)):.3f}"
                for one in zip(*every, strict=True)
            ]
            print(f"ε = {epsilon:g}, {way:<16} " + "  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
