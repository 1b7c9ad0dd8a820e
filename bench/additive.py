"""Adult: an additive model over ten silos beside a central DP-EBM of interpret, by area under the ROC curve.

    DISCREET_DATA=... python bench/additive.py --seeds 5 --peer-python /path/to/venv/bin/python

The peer sees all records in one place; it needs `pip install interpret-core` in its own environment. Both
train on Adult's own training records with the same ε and δ, and are measured on its own test records. No
setting was chosen by them: ours are those of untuned stable-steps, the peer's its defaults.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import math
import os
import statistics
import subprocess
import tempfile
import warnings
from pathlib import Path

from sklearn.metrics import roc_auc_score

from discreet import Config, load_model
from discreet.engines.local import run

SILOS = 10
# Public knowledge: plausible ranges, and edges where law and custom put them (full time is 40 hours; most
# people have no capital gain or loss, and large ones are what matters).
RANGES = {
    "age": [17, 90],
    "education_num": [1, 16],
    "capital_gain": [0, 100000],
    "capital_loss": [0, 5000],
    "hours_per_week": [1, 99],
}
BINS = {
    "age": 16,
    "education_num": 15,
    "capital_gain": [1, 1000, 3000, 5000, 7000, 10000, 20000],
    "capital_loss": [1, 500, 1000, 1500, 1750, 2000, 2250, 2500],
    "hours_per_week": [10, 20, 30, 35, 40, 41, 45, 50, 60],
}
TEXTS = {
    "workclass": "Federal-gov Local-gov Never-worked Private Self-emp-inc Self-emp-not-inc State-gov "
    "Without-pay",
    "marital_status": "Divorced Married-AF-spouse Married-civ-spouse Married-spouse-absent Never-married "
    "Separated Widowed",
    "occupation": "Adm-clerical Armed-Forces Craft-repair Exec-managerial Farming-fishing Handlers-cleaners "
    "Machine-op-inspct Other-service Priv-house-serv Prof-specialty Protective-serv Sales Tech-support "
    "Transport-moving",
    "relationship": "Husband Not-in-family Other-relative Own-child Unmarried Wife",
    "race": "Amer-Indian-Eskimo Asian-Pac-Islander Black Other White",
    "sex": "Female Male",
}
PEER = """
import csv, json, sys, warnings
import numpy as np
from interpret.privacy import DPExplainableBoostingClassifier
from sklearn.metrics import roc_auc_score
warnings.simplefilter("ignore")
told = json.load(sys.stdin)
def rows(path):
    found = list(csv.DictReader(open(path)))
    numbers = [[float(r[c]) for c in told["ranges"]] for r in found]
    texts = [[r[c] for c in told["texts"]] for r in found]
    x = np.array([a + b for a, b in zip(numbers, texts)], dtype=object)
    return x, np.array([int(r["label"]) for r in found])
x, y = rows(told["train"])
t, u = rows(told["test"])
kinds = ["continuous"] * len(told["ranges"]) + ["nominal"] * len(told["texts"])
bounds = {str(i): tuple(v) for i, v in enumerate(told["ranges"].values())}
names = [str(i) for i in range(len(kinds))]
for seed in range(told["seeds"]):
    model = DPExplainableBoostingClassifier(feature_names=names, feature_types=kinds, epsilon=told["epsilon"],
        delta=told["delta"], privacy_bounds=bounds, random_state=None)
    print(roc_auc_score(u, model.fit(x, y).predict_proba(t)[:, 1]), flush=True)
"""


def files(folder: Path) -> dict[str, Path]:
    """Writes Adult's own training and test records, and returns where."""
    source = Path(os.environ["DISCREET_DATA"]) / "adult.csv.gz"
    with gzip.open(source, "rt") as lines:
        rows = list(csv.DictReader(lines))
    found = {}
    for part in ("train", "test"):
        found[part] = folder / f"{part}.csv"
        with found[part].open("w", newline="") as target:
            writer = csv.DictWriter(target, list(rows[0]))
            writer.writeheader()
            writer.writerows(row for row in rows if row["split"] == part)
    return found


def config(train: Path, *, epsilon: float, seed: int, binned: bool) -> Config:
    """Returns a training of ten silos, one of which drops out; every setting is left to the plan."""
    data = {
        "source": f"csv:{train}",
        "label": "label",
        "test_fraction": 0.0,
        "ranges": RANGES,
        "categories": {name: texts.split() for name, texts in TEXTS.items()},
        "drop": ["split", "fnlwgt", "education", "native_country", "income"],
        "partition": {"kind": "iid", "silos": SILOS},
        "record_capacity": 3400,
    } | ({"bins": BINS} if binned else {})
    return Config.model_validate(
        {
            "name": "additive",
            "data": data,
            "training": {"local": {"kind": "stable-steps"}},
            "privacy": {"epsilon": epsilon, "delta": 1e-5},
            "aggregation": {"min_survivors": 8, "max_colluding": 1},
            "run": {"seed": seed, "dropouts": [{"silo": "silo-03", "round": 2, "stage": "mask"}]},
        }
    )


def ours(found: dict[str, Path], *, epsilon: float, seeds: int, binned: bool) -> list[float]:
    """Returns the area for each seed."""
    with found["test"].open() as lines:
        rows = list(csv.DictReader(lines))
    labels, areas = [int(row["label"]) for row in rows], []
    frame = {name: [row[name] for row in rows] for name in (*RANGES, *TEXTS)}
    for seed in range(seeds):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "run"
            run(config(found["train"], epsilon=epsilon, seed=seed, binned=binned), out)
            areas.append(float(roc_auc_score(labels, load_model(out).predict_proba(frame)[:, 1])))
    return areas


def peers(python: str, found: dict[str, Path], *, epsilon: float, seeds: int) -> list[float]:
    """Returns the area of the peer for each seed."""
    told: dict[str, object] = {name: str(path) for name, path in found.items()}
    told |= {"ranges": RANGES, "texts": list(TEXTS), "epsilon": epsilon, "delta": 1e-5, "seeds": seeds}
    done = subprocess.run(
        [python, "-c", PEER], input=json.dumps(told), text=True, capture_output=True, check=True
    )
    return [float(line) for line in done.stdout.split()]


def show(who: str, epsilon: float, areas: list[float]) -> None:
    """Prints the mean and the standard error of the mean."""
    error = statistics.stdev(areas) / math.sqrt(len(areas)) if len(areas) > 1 else math.nan
    print(f"epsilon {epsilon:<4} {who:<28} {statistics.mean(areas):.4f} ± {error:.4f}", flush=True)


def main() -> None:
    """Prints a row for each model and ε."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0])
    parser.add_argument("--peer-python")
    stated = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        found = files(Path(folder))
        for epsilon in stated.epsilon:
            for binned in (True, False):
                areas = ours(found, epsilon=epsilon, seeds=stated.seeds, binned=binned)
                show("ten silos, bins" if binned else "ten silos, no bins", epsilon, areas)
            if stated.peer_python:
                areas = peers(stated.peer_python, found, epsilon=epsilon, seeds=stated.seeds)
                show("central DP-EBM (interpret)", epsilon, areas)


if __name__ == "__main__":
    main()
