"""One record or person more, less or another in a silo's file: what it adds to all questions is within 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.audit.crafted_files import TableFile
from discreet.audit.crafted_search import loader_findings, record_findings
from discreet.audit.neighbours import Rounds
from discreet.config import Config, parse_config
from discreet.config.federation import federation_of
from discreet.data import Records
from discreet.errors import DataError
from discreet.kinds import Asked
from discreet.kinds.blocks import Products
from discreet.models import flatten
from discreet.plan import Plan
from discreet.plan.public_model import public_model
from discreet.randomness import SeededRandom
from discreet.rounds import initial_state
from discreet.session import plan_without_data
from discreet.silo.records import load_records
from tests.contracts.neighbours import own_code
from tests.contracts.neighbours.test_neighbours import told_apart

QUESTIONS: dict[str, list[dict[str, Any]]] = {
    "count": [{"kind": "count"}],
    "table": [{"kind": "table", "of": ["stage", "age"], "bins": {"age": [20, 40]}}],
    "moments": [{"kind": "moments", "of": ["age", "days"]}],
    "quantiles": [{"kind": "quantiles", "of": "age", "bins": 6}],
    "regression": [{"kind": "linear-regression", "outcome": "days", "on": ["age", "stage"]}],
    "survival": [{"kind": "survival", "time": "days", "event": "died", "by": "stage", "bins": 4}],
    "hazards": [{"kind": "hazards", "time": "days", "event": "died", "on": ["stage", "age"]}],
    "logistic": [{"kind": "logistic-regression", "outcome": "died", "on": ["stage", "age"]}],
}
QUESTIONS["all"] = [
    {**question, "weight": 1.0 + place} for place, (question,) in enumerate(QUESTIONS.values())
]

HEADER = ("who", "age", "stage", "days", "died", "seen", "site")
FEATURES = ("age", "stage", "days", "died", "seen")


COUNTS = ("count", "table", "quantiles", "survival", "hazards", "logistic")
QUESTIONS["counts"] = [question for name in COUNTS for question in QUESTIONS[name]]


def config(
    name: str, *, person: bool = False, average_over: str = "persons", mechanism: str = "rounded-gaussian"
) -> Config:
    data: dict[str, Any] = {
        "source": "csv:unset.csv",
        "ranges": {"age": [0.0, 60.0], "days": [0.0, 900.0], "died": [0.0, 1.0]},
        "dates": {"seen": {"from": "2020-01-01", "to": "2024-12-31"}},
        "categories": {"stage": ["I", "II", "III"]},
        "partition": {"kind": "column", "column": "site", "names": list(own_code.SILOS)},
    }
    capacity = dict.fromkeys(own_code.SILOS, 300)
    if person:
        data["person"] = {
            "column": "who", "capacity": capacity, "most_records": 3, "average_over": average_over
        }  # fmt: skip
    else:
        data["record_capacity"] = capacity
    privacy = {
        "epsilon": 2.0, "delta": 1e-5, "unit": "person" if person else "record", "mechanism": mechanism
    }  # fmt: skip
    return parse_config({"data": data, "ask": QUESTIONS[name], "privacy": privacy}, source="test")


def rounds_of(plan: Plan) -> Rounds:
    return Rounds(plan, public_model(plan), "a")


def start_of(plan: Plan) -> Any:
    return initial_state(plan, flatten(public_model(plan))).announced()


def table(rows: int = 24, seed: int = 1) -> TableFile:
    source = SeededRandom(seed)
    ages, days = source.uniform(rows), source.uniform(rows)
    stages, died = source.integers_below(rows, 4), source.integers_below(rows, 2)
    cells = [
        (
            f"p{place // 2}",
            f"{60 * ages[place]:.3f}",
            ("I", "II", "III", "none")[stages[place]],
            f"{900 * days[place]:.0f}",
            str(died[place]),
            f"202{place % 5}-0{1 + place % 9}-11",
            own_code.SILOS[place % 3 if place < 9 else 0],
        )
        for place in range(rows)
    ]
    return TableFile(HEADER, tuple(cells), "died", FEATURES)


def reader(asked: Config, plan: Plan, *, local: bool) -> Callable[[str], Records]:
    def read(written: str) -> Records:
        if not local:
            return load_records(written, plan, "a")
        return federation_of(asked.data.model_copy(update={"source": written})).silo("a").train

    return read


@pytest.mark.parametrize("name", QUESTIONS)
def test_crafted_records_move_the_integers_by_the_claim(name: str) -> None:
    plan = plan_without_data(config(name))
    findings = list(
        record_findings(rounds_of(plan), start_of(plan), trials=60, source=SeededRandom(3))
    )  # fmt: skip
    assert not told_apart(findings)
    # A cell is a whole 1; a product is largest where every number is at an end of its range.
    assert max(found.largest for found in findings) >= 0.95


@pytest.mark.parametrize("name", ["counts", *COUNTS])
def test_crafted_records_move_counts_by_whole_units(name: str) -> None:
    plan = plan_without_data(config(name, mechanism="discrete-laplace"))
    asked = len(QUESTIONS[name])
    assert plan.grid.scale == 1.0
    assert plan.grid.l2_sensitivity == math.sqrt(asked)
    findings = list(record_findings(rounds_of(plan), start_of(plan), trials=60, source=SeededRandom(3)))
    assert not told_apart(findings)
    # Nothing is rounded: a record is a 1 in one cell of each question, exactly.
    assert max(found.largest for found in findings) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("average_over", ["persons", "records"])
@pytest.mark.parametrize("name", ["all", "survival", "moments"])
def test_crafted_persons_move_the_integers_by_the_claim(name: str, average_over: str) -> None:
    plan = plan_without_data(config(name, person=True, average_over=average_over))
    findings = list(record_findings(rounds_of(plan), start_of(plan), trials=60, source=SeededRandom(4)))
    assert not told_apart(findings)
    # A weight of 1/3 for each record is used up by three records at the ends of their ranges: seldom crafted.
    rare = average_over == "records" and name != "survival"
    assert max(found.largest for found in findings) >= (0.6 if rare else 0.95)


@pytest.mark.parametrize("engine", ["local", "real"])
@pytest.mark.parametrize("person", [False, True], ids=["record", "person"])
def test_a_crafted_row_of_the_file_moves_the_integers_by_the_claim(engine: str, person: bool) -> None:
    asked = config("all", person=person)
    plan = plan_without_data(asked)
    file = table()
    findings = loader_findings(
        rounds_of(plan), file, reader(asked, plan, local=engine == "local"), start_of(plan),
        most_places=3 if person else file.count,
    )  # fmt: skip
    # Of a person another record may take the place of one that is left out: twice the claim, within the unit.
    kept = [found for found in findings if not (person and found.largest <= 2.0 and not found.differences)]
    assert not told_apart(kept)


def evaluation_of(name: str) -> Config:
    """A model of two classes, evaluated on the fifth of the records that its training holds out."""
    capacity = dict.fromkeys(own_code.SILOS, 300)
    data: dict[str, Any] = {
        "source": "csv:unset.csv",
        "asked": "held-out",
        "test_fraction": 0.5,
        "label": "died",
        "ranges": {"age": [0.0, 60.0], "days": [0.0, 900.0]},
        "categories": {"stage": ["I", "II", "III"]},
        "partition": {"kind": "column", "column": "site", "names": list(own_code.SILOS)},
    }
    if name == "person":
        data["person"] = {"column": "who", "capacity": capacity, "most_records": 3}
    else:
        data["record_capacity"] = capacity
    weights = [[1.0, -2.0, 0.5, 0.1, -0.3, 0.2]]
    question = {
        "kind": "evaluation",
        "weights": weights,
        "trained": "0" * 64,
        "silos": list(own_code.SILOS),
        "by": "stage",
    }
    privacy = {"epsilon": 2.0, "delta": 1e-5, "unit": name}
    return parse_config({"data": data, "ask": [question], "privacy": privacy}, source="test")


@pytest.mark.parametrize("engine", ["local", "real"])
@pytest.mark.parametrize("unit", ["record", "person"])
def test_a_crafted_row_moves_an_evaluation_by_the_claim(engine: str, unit: str) -> None:
    asked = evaluation_of(unit)
    plan = plan_without_data(asked)
    file = replace(table(), label="died", used=("age", "stage", "days"))
    findings = list(
        loader_findings(
            rounds_of(plan), file, reader(asked, plan, local=engine == "local"), start_of(plan),
            most_places=file.count,
        )
    )  # fmt: skip
    # A record that is altered is another one, which may be on this side as the first was: gone, and come.
    exchanged = [found for found in findings if found.crafted not in ("a row less", "a row twice")]
    assert all(found.largest <= 2**0.5 and not found.differences for found in exchanged)
    assert not told_apart([found for found in findings if found.crafted == "a row less"])


@pytest.mark.parametrize("unit", ["record", "person"])
def test_crafted_units_move_an_evaluation_by_the_claim(unit: str) -> None:
    plan = plan_without_data(evaluation_of(unit))
    findings = list(record_findings(rounds_of(plan), start_of(plan), trials=60, source=SeededRandom(3)))
    assert not told_apart(findings)
    assert max(found.largest for found in findings) >= 0.95


def test_a_bound_that_is_too_small_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Products, "squared_norm", property(lambda self: float(len(self.terms))))
    plan = plan_without_data(config("moments"))
    findings = record_findings(rounds_of(plan), start_of(plan), trials=60, source=SeededRandom(3))
    assert any(found.exceeded for found in findings)


def test_a_larger_factor_moves_the_sum_by_more() -> None:
    asked = plan_without_data(config("all")).silo_training("a")
    assert isinstance(asked, Asked)
    first, *rest = asked.blocks
    larger = replace(asked, blocks=(replace(first, factor=2.0), *rest))
    others = sum(block.factor**2 for block in rest)
    assert larger.l2_sensitivity() >= math.sqrt(4.0 + others) > 2.0 * asked.l2_sensitivity() * 0.99


def test_records_of_one_cell_come_from_themselves_alone(tmp_path: Path) -> None:
    """A record's features are the same bits, whatever stands beside it."""
    asked = config("all")
    plan = plan_without_data(asked)
    read = reader(asked, plan, local=False)
    file = table(40)
    whole = read(file.write(tmp_path / "whole"))
    for place in (0, 7, 39):
        alone = read(file.rows(np.array([place])).write(tmp_path / "alone"))
        assert alone.features.tobytes() == whole.features[place : place + 1].tobytes()


def test_a_silo_whose_source_is_a_function_is_asked_nothing() -> None:
    """It splits its records itself, so that held-out ones could be those that were trained on."""
    plan = plan_without_data(evaluation_of("record"))
    with pytest.raises(DataError, match="is a function"):
        load_records(f"{own_code.__name__}:federation", plan, "a")
