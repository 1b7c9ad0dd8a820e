"""What it costs to protect persons with up to 20 records each, in place of single records: AUC and step time.

    python bench/persons.py [--seeds 20] [--data heart adult roles] [--data-dir DIR]

Visits are made up as in examples/visits.py: the patients of the heart table, or people of Adult (a table of
DISCREET_DATA), measured 1 to 20 times. Every seed draws visits, held-out persons and noise anew. Both units
are trained on the same visits with the settings that the plan works out by itself, and measured on the visits
of the same held-out persons, who appear in no training. The last lines are the time of a silo's local steps
with either unit, one after the other in one run.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

import discreet
from discreet.config import parse_config
from discreet.kinds import StableSteps
from discreet.kinds.heads import BinaryLogistic
from discreet.kinds.persons import PersonWeights
from discreet.learning import local_update
from discreet.models import LinearHead
from discreet.plan import Plan
from discreet.plan.persons import for_persons
from discreet.randomness import SeededRandom
from discreet.session.public import plan_without_data

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from visits import MOST_VISITS, patients, visit, visits

HELD_OUT = 0.25
ADULT_PERSONS, ADULT_SILOS = 6000, 10
SHORTEST_LINE = 20
Row = dict[str, str]


@dataclass(frozen=True)
class Task:
    """What a silo holds of each person, a row to be measured again or rows as they are; public columns."""

    by_silo: dict[str, list[Row | list[Row]]]
    known: dict[str, Any]
    noise: dict[str, float]


def heart(_: Path) -> Task:
    """The four hospitals."""
    by_silo: dict[str, list[Row | list[Row]]] = {}
    for row in patients():
        by_silo.setdefault(row["hospital"], []).append(row)
    known = {
        "label": "label",
        "ranges": {"age": (30, 75), "trestbps": (90, 180), "chol": (100, 400), "thalach": (70, 190),
                   "oldpeak": (0, 3)},
        "categories": {"cp": ("1", "2", "3", "4"), "restecg": ("0", "1", "2"), "fbs": ("0", "1"),
                       "sex": ("0", "1"), "exang": ("0", "1")},
    }  # fmt: skip
    return Task(by_silo, known, {})


def adult(folder: Path) -> Task:
    """People of the Adult table, dealt to ten silos; public ranges and texts of seven columns."""
    with gzip.open(folder / "adult.csv.gz", "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    random.Random(0).shuffle(rows)  # noqa: S311 (nothing here is secret)
    by_silo: dict[str, list[Row | list[Row]]] = {
        f"silo-{n}": [*rows[:ADULT_PERSONS][n::ADULT_SILOS]] for n in range(ADULT_SILOS)
    }
    names = ("workclass", "education", "marital_status", "occupation", "relationship", "race", "sex")
    texts = {name: tuple(sorted({row[name] for row in rows})) for name in names}
    known = {
        "label": "label",
        "ranges": {"age": (17, 90), "hours_per_week": (1, 99), "education_num": (1, 16)},
        "categories": texts,
    }
    return Task(by_silo, known, {"age": 0.0, "hours_per_week": 4.0, "education_num": 0.0})


def roles(folder: Path) -> Task:
    """The roles of Shakespeare's plays as persons, at most twenty real lines of each; ten silos of plays.

    From the last three characters before a place in a line: is the next one a vowel?
    """
    with gzip.open(folder / "shakespeare_roles.csv.gz", "rt", encoding="utf-8", newline="") as file:
        speeches = list(csv.DictReader(file))
    lines: dict[tuple[str, str], list[str]] = {}
    for speech in speeches:
        own = [line for line in speech["text"].lower().split("\n") if len(line) > SHORTEST_LINE]
        lines.setdefault((speech["play_id"], speech["role"]), []).extend(own)
    plays = sorted({play for play, _ in lines})
    chance = random.Random(1)  # noqa: S311 (nothing here is secret)
    by_silo: dict[str, list[Row | list[Row]]] = {f"silo-{n}": [] for n in range(ADULT_SILOS)}
    for (play, _), own in sorted(lines.items()):
        said = [before(chance, line) for line in chance.sample(own, min(len(own), MOST_VISITS))]
        if said:
            by_silo[f"silo-{plays.index(play) % ADULT_SILOS}"].append(said)
    letters = tuple("abcdefghijklmnopqrstuvwxyz '")
    known = {
        "label": "label",
        "ranges": {},
        "categories": dict.fromkeys(("first", "second", "third"), letters),
    }
    return Task(by_silo, known, {})


def before(chance: random.Random, line: str) -> Row:
    """Returns the three characters before a place in a line, and whether a vowel follows."""
    place = chance.randint(3, len(line) - 1)
    first, second, third = line[place - 3 : place]
    return {"first": first, "second": second, "third": third, "label": str(int(line[place] in "aeiou"))}


def made_up(task: Task, seed: int) -> tuple[dict[str, list[Row]], list[Row]]:
    """Returns the visits of training persons by silo, and those of held-out ones."""
    chance = random.Random(seed)  # noqa: S311
    train: dict[str, list[Row]] = {}
    test: list[Row] = []
    number = 0
    for silo, rows in task.by_silo.items():
        train[silo] = []
        for row in rows:
            number += 1
            if isinstance(row, list):
                own = [{"person": f"P{number}", **one} for one in row]
            else:
                own = [repeated(chance, {"person": f"P{number}", **row}, task) for _ in range(visits(chance))]
            (test if chance.random() < HELD_OUT else train[silo]).extend(own)
        chance.shuffle(train[silo])
    return train, test


def repeated(chance: random.Random, row: Row, task: Task) -> Row:
    """Measures a person once more."""
    if not task.noise:
        return visit(chance, row)
    noisy = {
        name: f"{float(row[name]) + chance.gauss(0.0, spread):.1f}" for name, spread in task.noise.items()
    }
    return {**row, **noisy}


def columns(rows: list[Row]) -> dict[str, list[str]]:
    """Returns a table by columns."""
    return {name: [row[name] for row in rows] for name in rows[0]}


def planned(frames: discreet.Frames, capacity: dict[str, int], unit: str, epsilon: float) -> Plan:
    """Plans with nothing stated but the target."""
    silos = len(capacity)
    return plan_without_data(
        parse_config(
            {
                "data": frames.public(capacity=capacity).model_dump(exclude_none=True),
                "training": {"local": {"kind": "stable-steps"}},
                "privacy": {"epsilon": epsilon, "delta": 1e-5, "unit": unit},
                "aggregation": {"min_survivors": silos - 1, "max_colluding": 1},
            }
        )
    )


def auc(task: Task, unit: str, seed: int, epsilon: float) -> tuple[float, Plan]:
    """Trains on one draw of visits; returns the AUC on those of held-out persons, and the plan."""
    train, test = made_up(task, seed)
    person = {"column": "person", "most_records": MOST_VISITS} if unit == "person" else None
    frames = discreet.Frames(
        {silo: columns(rows) for silo, rows in train.items()},
        **task.known,
        test_fraction=0.0,
        person=person,
        drop=("person",) if person is None else (),
    )
    bound = {
        silo: 1.1 * (len({row["person"] for row in rows}) if unit == "person" else len(rows))
        for silo, rows in train.items()
    }
    plan = planned(
        frames, {silo: -(-int(number) // 10) * 10 for silo, number in bound.items()}, unit, epsilon
    )
    with tempfile.TemporaryDirectory() as folder:
        run = discreet.train(plan, frames, out=Path(folder) / "run", seed=seed, evaluate=False)
        table = columns(test)
        scores = run.predict_proba({name: cells for name, cells in table.items() if name != "label"})
    return float(roc_auc_score([int(cell) for cell in table["label"]], scores[:, 1])), plan


def mean_and_sem(values: list[float]) -> str:
    """Returns "mean ± standard error", in points."""
    sem = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return f"{100 * statistics.mean(values):.2f} ± {100 * sem:.2f}"


def utility(tasks: dict[str, Task], seeds: int, epsilons: list[float]) -> Iterator[str]:
    """Yields lines of the table of AUCs."""
    group_of = f"{MOST_VISITS} records under the record unit"
    yield f"| table | ε, δ = 1e-5 | AUC, record unit | AUC, person unit | difference | {group_of} |"
    yield "|---|---|---|---|---|---|"
    for name, task in tasks.items():
        for epsilon in epsilons:
            pairs = []
            for seed in range(seeds):
                (one, records), (other, _) = (auc(task, unit, seed, epsilon) for unit in ("record", "person"))
                pairs.append((one, other))
            ((_, group),) = for_persons(records, records=(MOST_VISITS,))
            singles, persons = [one for one, _ in pairs], [other for _, other in pairs]
            differences = [other - one for one, other in pairs]
            yield (
                f"| {name} | {epsilon:g} | {mean_and_sem(singles)} | {mean_and_sem(persons)} | "
                f"{mean_and_sem(differences)} | ε = {group.epsilon:.1f} |"
            )


def step_times(rows: int = 40_000, features: int = 100, repeats: int = 15) -> Iterator[str]:
    """Yields the time of a silo's local steps with persons over that with records: same rows, one by one."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=(rows, features)).astype(np.float32)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    owners = np.sort(generator.integers(0, rows // 4, rows))  # side by side, as they are loaded
    labels = generator.integers(0, 2, rows)
    held = discreet.data.Records(x, labels, owners)
    model, start = LinearHead(features, 1), np.zeros(features)
    for steps in (20, 500):
        kinds = {}
        for unit, persons in (("record", None), ("person", PersonWeights(200))):
            kinds[unit] = StableSteps(
                BinaryLogistic(), 1.0, 1e-4, steps=steps, record_capacity=rows, persons=persons
            )
        seconds: dict[str, list[float]] = {unit: [] for unit in kinds}
        for repeat in range(repeats):
            for unit, kind in kinds.items():
                began = time.perf_counter()
                local_update(kind, model, start, held, SeededRandom(repeat))
                seconds[unit].append(time.perf_counter() - began)
        ratios = [two / one for one, two in zip(seconds["record"], seconds["person"], strict=True)]
        yield (
            f"{rows} rows of {rows // 4} persons, {features} features, {steps} steps: "
            f"{1e3 * statistics.median(seconds['record']):.1f} ms with records, "
            f"{1e3 * statistics.median(seconds['person']):.1f} ms with persons, "
            f"ratio {statistics.median(ratios):.2f} (median of {repeats})"
        )


TASKS = {"heart": heart, "adult": adult, "roles": roles}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--data", nargs="+", choices=tuple(TASKS), default=list(TASKS))
    parser.add_argument("--epsilon", nargs="+", type=float, default=[1.0])
    parser.add_argument("--data-dir", type=Path, default=Path(os.environ.get("DISCREET_DATA", ".")))
    arguments = parser.parse_args()
    made = {name: TASKS[name](arguments.data_dir) for name in arguments.data}
    for line in utility(made, arguments.seeds, arguments.epsilon):
        print(line, flush=True)
    for line in step_times():
        print(line)


if __name__ == "__main__":
    main()
