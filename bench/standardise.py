"""What private standardisation is worth where public ranges are good, and where they are too wide.

    python bench/standardise.py --seeds 20
    DISCREET_DATA=... python bench/standardise.py --task acs --seeds 3

The table is read with ranges as they are known, then with ranges as wide as `--wide` says, of which the known
one is the lowest part, each without and with a preparation. Settings are those that the plan works out; seeds
draw the split as well, and differences are between trainings of one seed. Heart: four hospitals. ACS: every
thirtieth record, a silo a state; ages, schooling and hours of work as numbers.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import itertools
import math
import os
import statistics
import tempfile
import warnings
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from discreet import Config
from discreet.config import parse_config
from discreet.engines.local import run

Ranges = dict[str, tuple[float, float]]

HEART_RANGES: Ranges = {
    "age": (30, 75),
    "trestbps": (90, 180),
    "chol": (100, 400),
    "thalach": (70, 190),
    "oldpeak": (0, 3),
}
HEART: dict[str, Any] = {
    "label": "label",
    "partition": {"kind": "column", "column": "hospital"},
    "categories": {
        "cp": ["1", "2", "3", "4"],
        "restecg": ["1", "2"],
        "fbs": ["1"],
        "sex": ["0", "1"],
        "exang": ["0", "1"],
    },
    "missing": {"chol": "indicator"},
    "record_capacity": {"cleveland": 260, "hungary": 225, "switzerland": 50, "long_beach_va": 120},
}
ACS_RANGES: Ranges = {"AGEP": (17, 95), "SCHL": (1, 24), "WKHP": (1, 99)}
ACS: dict[str, Any] = {
    "label": "label",
    "partition": {"kind": "column", "column": "state"},
    "categories": {
        "COW": [str(code) for code in range(1, 9)],
        "MAR": [str(code) for code in range(1, 6)],
        "SEX": ["1", "2"],
    },
    "record_capacity": 8000,
}
_EVERY = 30


def heart_file(folder: Path) -> Path:
    """Writes heart disease as a table in which cholesterol that was not measured is missing."""
    bundled = resources.files("discreet.data.bundled") / "heart_disease.csv.gz"
    rows = list(csv.DictReader(gzip.decompress(bundled.read_bytes()).decode().splitlines()))
    for row in rows:
        row["chol"] = "" if row["chol"] == "0" else row["chol"]
    return _written(folder / "heart.csv", rows)


def acs_file(folder: Path) -> Path:
    """Writes every thirtieth record of ACS Income."""
    source = Path(os.environ["DISCREET_DATA"]) / "acs_income_2018.csv.gz"
    with gzip.open(source, "rt") as lines:
        rows = [row for number, row in enumerate(csv.DictReader(lines)) if number % _EVERY == 0]
    return _written(folder / "acs.csv", rows)


def _written(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", newline="") as target:
        writer = csv.DictWriter(target, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def widened(ranges: Ranges, times: float) -> Ranges:
    """Returns ranges so many times as wide, of which the known ones are the lowest part."""
    return {name: (low, low + times * (high - low)) for name, (low, high) in ranges.items()}


@dataclass(frozen=True)
class Setting:
    """One row: the table and its ranges, the target, and what is stated of a preparation, if anything."""

    source: Path
    data: dict[str, Any]
    ranges: Ranges
    epsilon: float
    standardise: dict[str, Any] | None

    def accuracy(self, seed: int) -> float:
        """Trains once and returns the accuracy on held-out records, in percent."""
        prepared = (
            {} if self.standardise is None else {"standardise": {"kind": "private", **self.standardise}}
        )
        own = {"source": f"csv:{self.source}", "ranges": self.ranges, "split_seed": seed}
        config: Config = parse_config(
            {
                "data": own | self.data | prepared,
                "training": {"local": {"kind": "stable-steps"}},
                "privacy": {"epsilon": self.epsilon, "delta": 1e-5},
                "run": {"seed": seed},
            }
        )
        with tempfile.TemporaryDirectory() as folder:
            return float(100 * run(config, Path(folder) / "run").metrics["accuracy"])


def shown(found: list[float]) -> str:
    """Returns the mean and the standard error of the mean."""
    error = statistics.stdev(found) / math.sqrt(len(found)) if len(found) > 1 else math.nan
    return f"{statistics.mean(found):.1f} ± {error:.1f}"


def main() -> None:
    """Prints the accuracy for every width of the ranges, without a preparation and for every share."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", choices=["heart", "acs"], default="heart")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 0.3])
    parser.add_argument("--wide", type=float, nargs="+", default=[1.0, 10.0])
    parser.add_argument("--share", type=float, nargs="+", default=[0.1])
    stated = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        source = (heart_file if stated.task == "heart" else acs_file)(Path(folder))
        data, ranges = (HEART, HEART_RANGES) if stated.task == "heart" else (ACS, ACS_RANGES)
        for epsilon, times in itertools.product(stated.epsilon, stated.wide):
            plain = Setting(source, data, widened(ranges, times), epsilon, None)
            before = [plain.accuracy(seed) for seed in range(stated.seeds)]
            row = f"{stated.task}, epsilon {epsilon:g}, ranges {times:g} times as wide"
            print(f"{row}: no preparation {shown(before)}", flush=True)
            for share in stated.share:
                own = replace(plain, standardise={"share": share})
                found = [own.accuracy(seed) for seed in range(stated.seeds)]
                more = [a - b for a, b in zip(found, before, strict=True)]
                print(f"{row}: share {share:g} {shown(found)}, difference {shown(more)}", flush=True)


if __name__ == "__main__":
    main()
