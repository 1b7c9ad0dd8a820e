"""The key ``bins`` of the data section, from a config or from frames to the columns."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from discreet.config.data import DataConfig
from discreet.config.federation import public_facts, table_shape, with_named_columns
from discreet.data import table_columns
from discreet.errors import DataError
from discreet.session import Frames

RANGES = {"g1": [0, 1], "g2": [0, 1], "age": [20, 90]}


def data(bins: Any) -> DataConfig:
    return DataConfig.model_validate({"source": "csv:x.csv", "label": "ill", "ranges": RANGES, "bins": bins})


def widths(stated: DataConfig) -> dict[str, int]:
    return {column.column: len(column.names) for column in table_columns(public_facts(stated))}


def test_one_number_is_for_every_column_with_a_range() -> None:
    assert widths(data(16)) == {"g1": 16, "g2": 16, "age": 16}
    assert table_shape(data(16)) == (49, 2)


def test_by_column_and_by_pattern() -> None:
    named = with_named_columns(data({"g*": 4, "age": [30, 40]}), ["ill", "g1", "g2", "age"])
    assert named.bins == {"g1": 4, "g2": 4, "age": (30.0, 40.0)}
    assert widths(named) == {"g1": 4, "g2": 4, "age": 3}


def test_a_pattern_that_fits_nothing_is_said() -> None:
    with pytest.raises(DataError, match=r"bins\.'h\*' fits no column"):
        with_named_columns(data({"h*": 4}), ["ill", "g1", "g2", "age"])


@pytest.mark.parametrize("bins", [1, 2000, True, {"age": 1}, {"age": []}, {"age": "16"}, "16", [1, 2]])
def test_what_is_no_bins_is_refused(bins: Any) -> None:
    with pytest.raises(ValidationError):
        data(bins)


def test_arrays_have_no_bins() -> None:
    with pytest.raises(ValidationError, match="must be without bins"):
        DataConfig(source="memory", feature_shape=(3,), num_classes=2, bins=4)


def test_frames_state_them_too() -> None:
    table = {"age": [30, 50], "ill": [0, 1]}
    frames = Frames({"north": table}, label="ill", ranges={"age": (20, 90)}, bins={"age": [40]})
    assert widths(frames.public(capacity=10)) == {"age": 2}
