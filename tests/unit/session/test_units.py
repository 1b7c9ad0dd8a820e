"""Whom a program protects and how its records tell persons apart must go together."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from discreet import Frames, Target, parse_config, plan_questions, plan_training
from discreet.errors import ConfigurationError

TABLES = {silo: {"who": ["a"], "age": [51], "ill": [0]} for silo in ("north", "south", "west")}
PERSON = {"column": "who", "most_records": 3}
Unit = Literal["record", "person"]


def records(person: Any, label: str | None = "ill") -> Any:
    return Frames(TABLES, label=label, ranges={"age": (20, 90)}, person=person).public(capacity=100)


def ask(data: Any, target: Target) -> Any:
    return plan_questions(data, [{"kind": "count"}], target=target)


def train(data: Any, target: Target) -> Any:
    return plan_training(data, target=target)


@pytest.mark.parametrize(
    ("person", "unit", "message"),
    [
        (PERSON, "record", r"unit must be 'person' where .* got 'record'. Give Target\(..., unit='person'\)"),
        (None, "person", r"person=... must be given .*; got none. Give Frames\(..., person="),
    ],
)
def test_one_without_the_other_is_one_line_with_the_knob(person: Any, unit: Unit, message: str) -> None:
    for label, plan in (("ill", train), (None, ask)):
        with pytest.raises(ConfigurationError, match=message):
            plan(records(person, label), Target(1.0, unit=unit))


def test_a_person_that_is_no_mapping_is_one_line() -> None:
    with pytest.raises(ConfigurationError, match=r"person must be a mapping, as in .*; got 'who'"):
        records("who")


@pytest.mark.parametrize(
    ("data", "privacy", "message"),
    [
        ({}, {"unit": "person"}, "^the config: 'data.person' must be given where .* is person; got none"),
        (
            {"person": PERSON | {"capacity": 9}},
            {},
            "^the config: 'privacy.unit' must be person .*; got record",
        ),
    ],
)
def test_a_config_says_it_with_its_own_keys(data: Any, privacy: Any, message: str) -> None:
    tables = {
        "name": "t",
        "data": {"source": "csv:a.csv", "label": "ill", "ranges": {"age": [20, 90]}, **data},
        "training": {"rounds": "auto", "local": {"kind": "stable-steps"}},
        "aggregation": {},
        "privacy": {"epsilon": 1.0, "delta": 1e-5, **privacy},
    }
    with pytest.raises(ConfigurationError, match=message):
        parse_config(tables)
