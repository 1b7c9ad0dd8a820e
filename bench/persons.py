"""What it costs to protect persons with up to 20 records each, in place of single records: AUC and step time.

    python bench/persons.py [--seeds 20] [--data heart adult roles] [--data-dir DIR]

Visits are made up as in examples/visits.py: the patients of the heart table, or people of Adult (a table of
DISCREET_DATA), measured 1 to 20 times. Every seed draws visits, held-out persons and noise anew. Both units
are trained on the same visits with the settings that the plan works out by itself, and measured on the visits
of the same held-out persons, who appear in no training. The third model protects persons by single-step,
which clips each person once (automatic clipping, 20 rounds, momentum 0.9); its learning rate is the best of
three on a quarter of the training persons, at the same ε, and training is then repeated on all of them. That
look is not accounted for. The last lines are the time of a silo's local steps with either unit, one after the
other in one run.
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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from torch import nn

import discreet
from discreet.config import parse_config
from discreet.data import Records
from discreet.kinds import SingleStep, StableSteps
from discreet.kinds.heads import BinaryLogistic
from discreet.kinds.persons import PersonWeights
from discreet.learning import local_update
from discreet.models import LinearHead, build_model, flatten
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


@dataclass(frozen=True)
class Draw:
    """Visits of training persons by silo, those of held-out ones, and the seed of what is trained on them."""

    train: dict[str, list[Row]]
    test: list[Row]
    seed: int


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
    first, second, third, following = line[place - 3], line[place - 2], line[place - 1], line[place]
    return {"first": first, "second": second, "third": third, "label": str(int(following in "aeiou"))}


def made_up(task: Task, seed: int) -> Draw:
    """Draws visits of training persons by silo, and those of held-out ones."""
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
    return Draw(train, test, seed)


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


UNTUNED: dict[str, Any] = {"local": {"kind": "stable-steps"}}
RATES = (1.25, 2.5, 5.0)


def once_clipped(rate: float) -> dict[str, Any]:
    """Returns the table of a training that clips each person's whole gradient."""
    return {
        "local": {"kind": "single-step", "style": {"kind": "automatic"}},
        "rounds": 20,
        "server": {"kind": "momentum", "learning_rate": rate, "momentum": 0.9},
    }


def planned(
    frames: discreet.Frames,
    capacity: dict[str, int],
    unit: str,
    epsilon: float,
    training: dict[str, Any],
) -> Plan:
    """Plans with nothing stated but the target and what trains."""
    silos = len(capacity)
    clip = {"clip_norm": 1.0} if training["local"]["kind"] == "single-step" else {}
    return plan_without_data(
        parse_config(
            {
                "data": frames.public(capacity=capacity).model_dump(exclude_none=True),
                "training": training,
                "privacy": {"epsilon": epsilon, "delta": 1e-5, "unit": unit, **clip},
                "aggregation": {"min_survivors": silos - 1, "max_colluding": 1},
            }
        )
    )


def auc(
    task: Task, drawn: Draw, unit: str, epsilon: float, training: dict[str, Any] = UNTUNED
) -> tuple[float, Plan]:
    """Trains on one draw of visits; returns the AUC on those of held-out persons, and the plan."""
    train, test = drawn.train, drawn.test
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
    capacity = {silo: -(-int(number) // 10) * 10 for silo, number in bound.items()}
    plan = planned(frames, capacity, unit, epsilon, training)
    with tempfile.TemporaryDirectory() as folder:
        run = discreet.train(plan, frames, out=Path(folder) / "run", seed=drawn.seed, evaluate=False)
        table = columns(test)
        scores = run.predict_proba({name: cells for name, cells in table.items() if name != "label"})
    return float(roc_auc_score([int(cell) for cell in table["label"]], scores[:, 1])), plan


def auc_of_once_clipped(task: Task, drawn: Draw, epsilon: float) -> float:
    """Chooses the learning rate on training persons, and trains on all of them with it."""
    inner = validation(drawn)
    found = {rate: auc(task, inner, "person", epsilon, once_clipped(rate))[0] for rate in RATES}
    return auc(task, drawn, "person", epsilon, once_clipped(max(found, key=lambda rate: found[rate])))[0]


def validation(drawn: Draw) -> Draw:
    """Holds a quarter of the training persons out of training once more."""
    chance = random.Random(10_000 + drawn.seed)  # noqa: S311
    people = sorted({row["person"] for rows in drawn.train.values() for row in rows})
    out = set(chance.sample(people, int(HELD_OUT * len(people))))
    kept = {silo: [row for row in rows if row["person"] not in out] for silo, rows in drawn.train.items()}
    left = [row for rows in drawn.train.values() for row in rows if row["person"] in out]
    return Draw(kept, left, drawn.seed)


def mean_and_sem(values: list[float]) -> str:
    """Returns "mean ± standard error", in points."""
    sem = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return f"{100 * statistics.mean(values):.2f} ± {100 * sem:.2f}"


def utility(tasks: dict[str, Task], seeds: int, epsilons: list[float]) -> Iterator[str]:
    """Yields lines of the table of AUCs."""
    group_of = f"{MOST_VISITS} records under the record unit"
    yield (
        "| table | ε, δ = 1e-5 | AUC, record unit | person unit | difference | person unit, clipped once | "
        f"difference | {group_of} |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for name, task in tasks.items():
        for epsilon in epsilons:
            found: list[tuple[float, float, float]] = []
            for seed in range(seeds):
                drawn = made_up(task, seed)
                one, records = auc(task, drawn, "record", epsilon)
                other, _ = auc(task, drawn, "person", epsilon)
                found.append((one, other, auc_of_once_clipped(task, drawn, epsilon)))
            ((_, group),) = for_persons(records, records=(MOST_VISITS,))
            singles, persons, clipped = (list(column) for column in zip(*found, strict=True))
            yield (
                f"| {name} | {epsilon:g} | {mean_and_sem(singles)} | {mean_and_sem(persons)} | "
                f"{mean_and_sem([two - one for one, two, _ in found])} | {mean_and_sem(clipped)} | "
                f"{mean_and_sem([three - one for one, _, three in found])} | ε = {group.epsilon:.1f} |"
            )


def step_times(repeats: int = 9) -> Iterator[str]:
    """Yields the time of a silo's local steps with persons over that with records: same rows, one by one."""
    linear = LinearHead(100, 1)
    rows = random_rows(40_000, (100,))
    for steps in (20, 500):
        stable = StableSteps(BinaryLogistic(), 1.0, 1e-4, steps=steps, record_capacity=len(rows))
        yield f"stable-steps, {steps} steps: {timed(stable, linear, rows, repeats)}"
    yield f"single-step, linear: {timed(SingleStep(1.0), linear, rows, repeats)}"
    images = random_rows(4_000, (28, 28))
    for name in ("mlp", "cnn-tanh"):
        network = build_model(name, (28, 28), 2, seed=0)
        yield f"single-step, {name}: {timed(SingleStep(1.0), network, images, repeats)}"


def random_rows(rows: int, shape: tuple[int, ...]) -> Records:
    """Returns rows of norm 1 with two classes, four a person on average, side by side as they are loaded."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=(rows, *shape)).astype(np.float32)
    x /= np.sqrt(np.square(x).sum(axis=tuple(range(1, x.ndim)), keepdims=True))
    return Records(x, generator.integers(0, 2, rows), np.sort(generator.integers(0, rows // 4, rows)))


def timed(kind: StableSteps | SingleStep, model: nn.Module, held: Records, repeats: int) -> str:
    """Returns the median times of one kind with either unit, and their ratio."""
    start = flatten(model)
    seconds: dict[str, list[float]] = {"records": [], "persons": []}
    for repeat in range(repeats):
        for unit, persons in (("records", None), ("persons", PersonWeights(20))):
            own = replace(kind, persons=persons)
            began = time.perf_counter()
            local_update(own, model, start, held, SeededRandom(repeat))
            seconds[unit].append(time.perf_counter() - began)
    ratios = [two / one for one, two in zip(seconds["records"], seconds["persons"], strict=True)]
    one, two = (1e3 * statistics.median(found) for found in seconds.values())
    return (
        f"{len(held)} rows, {one:.1f} ms with records, {two:.1f} ms with persons, "
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
