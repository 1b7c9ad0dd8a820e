"""A silo of a real federation trains a regression on its own file as the rehearsal does; persons too."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.config import parse_config
from discreet.data.labels import Outcome
from discreet.errors import DataError
from discreet.session import Frames, Target, plan_training, train
from discreet.session.public import plan_without_data
from discreet.silo.records import load_records

COLUMNS = ("age", "weight", "patient", "days")


def rows(count: int, seed: int) -> list[dict[str, Any]]:
    draw = np.random.default_rng(seed)
    ages = draw.uniform(20, 90, count).round(2)
    days = (0.3 * ages + draw.normal(0, 2, count)).round(2)
    weights = draw.uniform(40, 120, count).round(1)
    return [
        {"age": age, "weight": weight, "patient": f"p{seed}-{place // 3}", "days": day}
        for place, (age, weight, day) in enumerate(zip(ages, weights, days, strict=True))
    ]


def stated(**data: Any) -> dict[str, Any]:
    unit = "person" if "person" in data else "record"
    return {
        "data": {
            "source": "csv:unset.csv",
            "label": "days",
            "label_range": [0, 40],
            "ranges": {"age": [20, 90], "weight": [40, 120]},
            "drop": ["patient"],
            **data,
        },
        "training": {"local": {"kind": "stable-steps"}},
        "privacy": {"epsilon": 4.0, "delta": 1e-5, "unit": unit},
    }


CAPACITY = {"north": 200, "south": 200, "west": 200}


def write(path: Path, own: list[dict[str, Any]]) -> str:
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        table.writerows(own)
    return f"csv:{path}"


def test_a_silo_reads_numbers_by_the_plans_rules(tmp_path: Path) -> None:
    plan = plan_without_data(parse_config(stated(record_capacity=CAPACITY, test_fraction=0.0)))
    own = rows(30, 1)
    own[3]["days"], own[4]["days"] = "n/a", 500
    told: list[str] = []
    records = load_records(write(tmp_path / "own.csv", own), plan, "north", told.append)
    numbers = Outcome(0.0, 40.0).read_back(records.labels)
    assert len(records) == 29
    assert numbers[3] == 40.0
    np.testing.assert_allclose(numbers[:3], [row["days"] for row in own[:3]], atol=1e-6)
    assert any("1 of 30 cells hold no finite number" in line for line in told)


def test_a_source_of_classes_is_refused_for_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_source.py").write_text(
        "import numpy as np\n"
        "from discreet.data import Federation, Records, Silo\n"
        "def make(test_fraction, split_seed):\n"
        "    own = Records(np.zeros((3, 3), np.float32), np.zeros(3, np.int64))\n"
        "    return Federation('own', (Silo('north', own, own),), 2, (3,), 1.0)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    plan = plan_without_data(parse_config(stated(record_capacity=CAPACITY)))
    with pytest.raises(DataError, match="the label must be a number, as the plan says"):
        load_records("own_source:make", plan, "north")


@pytest.mark.parametrize("persons", [False, True])
def test_frames_train_a_regression_for_records_and_for_persons(tmp_path: Path, persons: bool) -> None:
    person = {"column": "patient", "most_records": 4} if persons else None
    tables = {
        silo: {name: [row[name] for row in rows(240, seed)] for name in COLUMNS}
        for seed, silo in enumerate(CAPACITY)
    }
    frames = Frames(
        tables,
        label="days",
        label_range=(0, 40),
        ranges={"age": (20, 90), "weight": (40, 120)},
        person=person,
        drop=() if persons else ("patient",),
    )
    target = Target(4.0, unit="person" if persons else "record")
    plan = plan_training(frames.public(capacity=100 if persons else 220), target=target)
    run = train(plan, frames, out=tmp_path / "run", seed=1)
    assert run.metrics[-1]["mae"] < 0.7 * run.metrics[-1]["constant_mae"]
    assert run.verify()


def test_what_columns_add_is_the_number_in_its_own_unit(tmp_path: Path) -> None:
    """With bins alone every record has one length, and a prediction is the sum of what the report shows."""
    tables = {silo: rows(150, seed) for seed, silo in enumerate(CAPACITY)}
    columns = {silo: {name: [row[name] for row in own] for name in COLUMNS} for silo, own in tables.items()}
    ranges = {"age": (20, 90), "weight": (40, 120)}
    frames = Frames(columns, label="days", label_range=(0, 40), ranges=ranges, bins=4, drop=("patient",))
    plan = plan_training(frames.public(capacity=200), target=Target(4.0))
    run = train(plan, frames, out=tmp_path / "run", seed=1)
    shapes = run.shapes()
    assert shapes.outcomes == ("days",)
    assert shapes.adds_to == "days"
    (constant,) = shapes.constants
    found = run.predict({"age": [25.0, 85.0], "weight": [45.0, 115.0]})
    ends = [
        shapes.middle
        + constant.contribution
        + sum(shape.levels[place].contribution for shape in shapes.of("days"))
        for place in (0, -1)
    ]
    assert found == pytest.approx(ends, abs=1e-4)
    assert found[1] > found[0] + 5
    assert "adds to days" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
