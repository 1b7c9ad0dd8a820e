"""A label that is a number: clipped into its public range, read by a rule of its own row, and told apart."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.config import parse_config
from discreet.config.federation import federation_of, table_shape
from discreet.data import Federation, PublicFacts, Records, Silo
from discreet.data.labels import PARTS, Outcome, extreme_labels, other_labels
from discreet.errors import ConfigurationError, DataError

STAY = Outcome(0.0, 60.0)


def config(**data: Any) -> Any:
    stated = {
        "source": "csv:unset.csv",
        "label": "stay",
        "label_range": [0, 60],
        "ranges": {"age": [0, 100]},
        "record_capacity": 50,
        "partition": {"kind": "iid", "silos": 2},
    }
    training = {"local": {"kind": "stable-steps"}}
    tables = {"data": stated | data, "training": training, "privacy": {"epsilon": 1.0, "delta": 1e-5}}
    return parse_config(tables, source="test").data


def federation(tmp_path: Path, cells: list[str], silo: str | None = None, **data: Any) -> Federation:
    with (tmp_path / "own.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["age", "stay"])
        table.writerows([20 + place, cell] for place, cell in enumerate(cells))
    return federation_of(config(source=f"csv:{tmp_path}/own.csv", **data), silo=silo)


def test_a_number_becomes_its_place_and_comes_back() -> None:
    numbers = np.array([0.0, 30.0, 45.0, 60.0, 7.123])
    labels = STAY.labels(numbers)
    assert labels.dtype == np.int64
    assert labels[:4].tolist() == [0, PARTS, 3 * PARTS // 2, 2 * PARTS]
    assert np.abs(STAY.read_back(labels) - numbers).max() <= 30.0 / PARTS


@pytest.mark.parametrize(
    ("number", "expected"), [(-5.0, 0), (1e308, 2 * PARTS), (np.nan, -1), (np.inf, -1), (-np.inf, -1)]
)
def test_what_is_outside_is_clipped_and_what_is_no_number_is_none(number: float, expected: int) -> None:
    assert STAY.labels(np.array([number])).tolist() == [expected]


def test_any_integer_stands_for_a_place() -> None:
    odd = np.array([-(2**63), -1, 2**62, 2**63 - 1])
    assert Outcome.positions(odd).tolist() == [-1.0, -1.0, 1.0, 1.0]


@pytest.mark.parametrize("ends", [(1.0, 1.0), (2.0, 1.0), (0.0, np.inf), (np.nan, 1.0), (-1e308, 1e308)])
def test_what_is_no_range_is_refused(ends: tuple[float, float]) -> None:
    with pytest.raises(DataError, match=r"label_range must be \[low, high\]"):
        Outcome(*ends)


def test_neighbours_of_an_audit_are_at_the_ends() -> None:
    assert extreme_labels(1).tolist() == [0, 2 * PARTS]
    assert extreme_labels(3).tolist() == [0, 1, 2]
    assert other_labels(np.array([0, PARTS + 1]), 1).tolist() == [2 * PARTS, 0]
    assert other_labels(np.array([0, 2]), 3).tolist() == [1, 0]


def test_the_owner_hears_of_what_was_left_out_and_clipped(tmp_path: Path) -> None:
    found = federation(tmp_path, ["3", "", "n/a", "90", "-2", "12.5"] * 4)
    assert (found.num_classes, found.outcome) == (1, STAY)
    told = "\n".join(found.warnings)
    assert "column 'stay': 8 of 24 cells hold no finite number; THESE RECORDS ARE LEFT OUT" in told
    assert "column 'stay': 8 of 24 cells are outside [0, 60] and are clipped" in told
    assert "label_range = [LOW, HIGH]" in told
    kept = np.concatenate([found.pooled_train().labels, found.pooled_test().labels])
    assert sorted(STAY.read_back(kept).round(4).tolist()) == sorted([3.0, 60.0, 0.0, 12.5] * 4)


def test_a_cell_that_is_no_number_moves_nobody_else(tmp_path: Path) -> None:
    cells = [str(place % 50) for place in range(30)]
    before = federation(tmp_path, cells, "own")
    after = federation(tmp_path, [*cells[:7], "?", *cells[8:]], "own")
    for one, other in zip(before.silos, after.silos, strict=True):
        for part, rest in ((one.train, other.train), (one.test, other.test)):
            rows = {row.tobytes() for row in part.features}
            assert {row.tobytes() for row in rest.features} <= rows
    assert len(after.pooled_train()) + len(after.pooled_test()) == 29


def test_the_shape_of_a_table_tells_a_number() -> None:
    assert table_shape(config()) == (2, 1)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"classes": ["no", "yes"]}, "classes must be left out where label_range is given"),
        ({"num_classes": 2}, "num_classes must be left out"),
        ({"label": None}, "beside the label that it is of"),
        ({"label_range": [5, 5]}, "with low < high"),
    ],
)
def test_whoever_states_a_range_states_no_classes(changes: dict[str, Any], match: str) -> None:
    with pytest.raises(ConfigurationError, match=match):
        config(**changes)


def test_facts_that_say_both_are_refused() -> None:
    with pytest.raises(DataError, match="must be left out where there are classes"):
        _ = PublicFacts(label="y", label_range=(0, 1), num_classes=2).outcome


def test_a_dirichlet_partition_needs_classes(tmp_path: Path) -> None:
    skewed = {"kind": "dirichlet", "silos": 2, "alpha": 1.0}
    with pytest.raises(DataError, match="dirichlet partition must be of classes"):
        federation(tmp_path, ["1", "2"], partition=skewed)


def test_arrays_have_classes(tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", x=np.zeros((3, 2)), y=np.zeros(3))
    with pytest.raises(DataError, match="label_range"):
        federation_of(config(source=f"npz:{tmp_path}/own.npz"))


@pytest.mark.parametrize(("classes", "outcome"), [(2, STAY), (1, None)])
def test_a_federation_has_classes_or_a_range(classes: int, outcome: Outcome | None) -> None:
    none = Records(np.zeros((0, 2), np.float32), np.zeros(0, np.int64))
    with pytest.raises(DataError):
        Federation("odd", (Silo("a", none, none),), classes, (2,), outcome=outcome)
