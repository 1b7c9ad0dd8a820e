"""Fields that somebody else wrote: types are checked in depth before an object is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest

from discreet.errors import ConfigurationError
from discreet.privacy.typed import build, fits
from discreet.privacy.wire import from_json


class Colour(Enum):
    RED = "red"


@dataclass(frozen=True)
class Part:
    length: int


@dataclass(frozen=True)
class Whole:
    parts: tuple[Part, ...]
    ratio: float
    colour: Colour | None = None
    names: Mapping[str, int] | None = None


RIGHT = {"parts": (Part(1),), "ratio": 1}


def test_values_are_taken_as_they_are() -> None:
    assert build(Whole, RIGHT) == Whole((Part(1),), 1)
    assert build(Whole, {**RIGHT, "colour": Colour.RED, "names": {"a": 1}}).colour is Colour.RED
    assert type(build(Whole, RIGHT).ratio) is int


@pytest.mark.parametrize(
    "change",
    [
        {"parts": [Part(1)]},
        {"parts": (Part(1), 2)},
        {"parts": Part(1)},
        {"ratio": "1"},
        {"ratio": True},
        {"ratio": float("nan")},
        {"ratio": None},
        {"colour": "red"},
        {"names": {"a": "1"}},
        {"names": {1: 1}},
        {"names": [("a", 1)]},
        {"other": 1},
    ],
)
def test_any_other_type_is_refused(change: Any) -> None:
    with pytest.raises(ConfigurationError, match="Whole"):
        build(Whole, {**RIGHT, **change})


@pytest.mark.parametrize("fields", [{"ratio": 1.0}, [], None])
def test_missing_fields_and_no_table_at_all(fields: Any) -> None:
    with pytest.raises(ConfigurationError, match="Whole"):
        build(Whole, fields)


def test_a_flag_is_no_number() -> None:
    assert not fits(True, int)
    assert not fits(1, bool)


@pytest.mark.parametrize(
    "data",
    [
        {"type": "float", "value": "1.5"},
        {"type": "float"},
        {"type": "Unit"},
        {"type": "Unit", "value": []},
        {"type": "PoissonSampling", "prob": "0.5"},
        {"type": "Repeated", "event": 3, "count": 1},
        {"type": "Composed", "events": [1]},
        {"type": []},
    ],
)
def test_tagged_values_of_another_type_are_refused(data: Any) -> None:
    with pytest.raises(ConfigurationError):
        from_json(data)
