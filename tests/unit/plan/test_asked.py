"""Questions that cannot be asked: one line that names the key, before anything is read."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.config import parse_config
from discreet.errors import ConfigurationError
from discreet.plan import Plan, parse_plan
from discreet.session import plan_without_data

SILOS = {"north": 100, "south": 100, "east": 100}
DATA: dict[str, Any] = {
    "source": "csv:tables/",
    "record_capacity": SILOS,
    "ranges": {"age": [20, 90], "days": [0, 1000], "died": [0, 1], "kind": [0, 2]},
    "dates": {"seen": {"from": "2020-01-01", "to": "2020-12-31"}},
    "categories": {"sex": ["f", "m"], "stage": ["I", "II", "III"]},
}


def planned(*questions: dict[str, Any], data: dict[str, Any] | None = None, **tables: Any) -> Plan:
    whole = {"data": DATA | (data or {}), "ask": list(questions), "privacy": {"epsilon": 1.0, "delta": 1e-5}}
    return plan_without_data(parse_config(whole | tables))


COUNT = {"kind": "count"}
SURVIVAL = {"kind": "survival", "time": "days", "event": "died"}


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"kind": "table", "of": ["weight"]}, "'of' must name a column .*got 'weight'"),
        ({"kind": "table", "of": ["age"], "bins": {"age": [50, 40]}}, "edges must increase"),
        ({"kind": "table", "of": ["age"], "bins": {"age": [10]}}, "inside the range"),
        ({"kind": "table", "of": ["age"], "bins": {"age": [20]}}, "must have an edge inside its range"),
        ({"kind": "table", "of": ["age"], "bins": {"sex": 3}}, "bins must be of columns in 'of'"),
        ({"kind": "table", "of": ["age", "age"]}, "every column once"),
        ({"kind": "table", "of": ["age", "days"], "bins": {"age": 1000, "days": 1000}}, "at most 65,536"),
        ({"kind": "moments", "of": ["sex"]}, "'sex' is one of texts"),
        ({"kind": "moments", "of": ["age"], "components": 2}, "at most the number of columns, 1; got 2"),
        ({"kind": "quantiles", "of": "stage"}, "'stage' is one of texts"),
        ({"kind": "quantiles", "of": "age", "at": [1.0]}, "less than 1"),
        ({"kind": "linear-regression", "outcome": "age", "on": ["age"]}, "must be distinct"),
        ({"kind": "linear-regression", "outcome": "sex", "on": ["age"]}, "'sex' is one of texts"),
        (SURVIVAL | {"event": "kind"}, r"'event' must be 0 or 1, with the range \[0, 1\]"),
        (SURVIVAL | {"event": "stage"}, "two texts; 'stage' has 3"),
        (SURVIVAL | {"event": "sex", "happened": "x"}, "'happened' must be one of f, m; got 'x'"),
        (SURVIVAL | {"by": "age"}, "'by' must be a column of texts"),
        (SURVIVAL | {"by": "days"}, "must be distinct"),
        ({"kind": "mode"}, "'count', 'table'"),
        ({"kind": "count", "of": "age"}, "unknown key 'ask.0.of'"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_in_one_line(question: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words) as refused:
        planned(question)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("data", "tables", "words"),
    [
        ({"label": "sex"}, {}, "label must be left out where questions are asked"),
        ({"bins": 5}, {}, "bins must be left out"),
        ({}, {"training": {"rounds": 2, "local": {"kind": "single-step"}}}, "either 'ask' or a training"),
        ({}, {"model": {"name": "logistic"}}, "either 'ask' or a training"),
        ({}, {"privacy": {"epsilon": 1, "delta": 1e-5, "unit": "client"}}, "record or person"),
        (
            {},
            {"privacy": {"epsilon": 1, "delta": 1e-5, "clip_norm": 1.0}},
            "must be left out where questions",
        ),
        ({"source": "npz:a.npz", "ranges": None, "dates": None, "categories": None}, {}, "must be a table"),
        ({"record_capacity": dict.fromkeys(SILOS, 1 << 21)}, {}, "capacity"),
        ({}, {"ask": []}, "at least 1 item"),
        ({}, {"ask": [COUNT] * 65}, "at most 64 items"),
    ],
)
def test_a_config_that_is_half_a_training_is_refused(
    data: dict[str, Any], tables: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words) as refused:
        planned(COUNT, data=data, **tables)
    assert "\n" not in str(refused.value)


def test_records_without_a_label_train_nothing() -> None:
    whole = {
        "data": DATA | {"asked": True},
        "training": {"rounds": 1, "local": {"kind": "single-step"}},
        "privacy": {"epsilon": 1.0, "delta": 1e-5, "clip_norm": 1.0},
    }
    with pytest.raises(ConfigurationError, match=r"'data\.label' must be given where a model is trained"):
        parse_config(whole)


def test_a_plan_of_questions_reads_itself_back() -> None:
    plan = planned(COUNT, SURVIVAL | {"by": "stage"}, {"kind": "table", "of": ["seen"], "bins": {"seen": 12}})
    again = parse_plan(plan.document())
    assert again == plan
    assert again.digest() == plan.digest()
    assert plan.facts.dimension == 1 + 4 * 26 * 3 + 13


def test_the_noise_of_one_sum_does_not_grow_with_the_number_of_questions() -> None:
    alone, many = planned(COUNT), planned(COUNT, COUNT, COUNT)
    assert many.noise_multiplier == pytest.approx(alone.noise_multiplier, rel=0.01)
    assert many.rounds == 1
