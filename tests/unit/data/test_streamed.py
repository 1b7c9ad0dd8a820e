"""Tables read some rows at a time make the federation that they make when they are read at once.

The digests were written down while every source was encoded whole before it was dealt out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.data import (
    ColumnSilos,
    DirichletSilos,
    Federation,
    IidSilos,
    OneSilo,
    Partition,
    PublicFacts,
    csv_file,
    load_federation,
    parquet_file,
    silo_rows,
)
from discreet.data.dates import DateOrder
from discreet.data.growing import GrowingRows
from discreet.data.persons import PersonRule
from discreet.data.split import Side

ROWS = 400
SITES = ("north", "south", "east", "")
FACTS = PublicFacts(
    label="ill",
    ranges={"age": (20, 80), "dose": (0, 1)},
    dates={"seen": (date(2019, 1, 1), date(2021, 12, 31), DateOrder.YMD)},
    categories={"stage": ("a", "b", "1")},
    missing=frozenset({"dose", "stage"}),
)
"""Every kind of column; cells are missing, outside of the ranges and not of their kind."""

COLUMN = ColumnSilos("site")
NAMED = ColumnSilos("site", names=("north", "south", "west"))


def columns() -> dict[str, list[str]]:
    """Returns a table by column; numbers have several spellings, and some rows are equal."""
    source = np.random.default_rng(5)

    def some(of: tuple[str, ...]) -> list[str]:
        return [of[place] for place in source.integers(0, len(of), ROWS).tolist()]

    return {
        "site": some(SITES),
        "age": some(("23", "45.5", "1e2", "71.0", "", "old", "19")),
        "dose": some(("0.25", "0.5", "1", "nan", "", "0.125")),
        "seen": some(("2019-05-01", "2020-02-29", "2021-02-30", "2018-12-31", "", "2021-01-01 00:00:00")),
        "stage": some(("a", "b", "1", "1.0", "c", "")),
        "patient": [f"p{number}" for number in source.integers(0, 90, ROWS).tolist()],
        "ill": some(("0", "1", "1.0", "unknown")),
    }


def write(folder: Path, *, parts: int = 1) -> Path:
    """Writes the table as CSV; or its parts, each a file of its own."""
    table = columns()
    header, rows = ",".join(table), [",".join(row) for row in zip(*table.values(), strict=True)]
    for number in range(parts):
        own = rows[number::parts]
        own.insert(len(own) // 2, "a,row,too,short")
        (folder / f"part{number}.csv").write_text("\n".join([header, *own]) + "\n")
    return folder


def digest(federation: Federation) -> str:
    """Returns a digest of all records, names and counts; of notes only how many, whose words may change."""
    state = hashlib.sha256(repr((federation.feature_names, len(federation.warnings))).encode())
    for silo in federation.silos:
        state.update(repr((silo.name, silo.surplus)).encode())
        for part in (silo.train, silo.test):
            state.update(part.features.tobytes() + part.labels.tobytes())
            _, persons = np.unique(np.zeros(0) if part.persons is None else part.persons, return_inverse=True)
            state.update(persons.tobytes())
    return state.hexdigest()[:16]


PERSON = replace(FACTS, id="patient", person=PersonRule(3))
SETTINGS: Mapping[str, tuple[PublicFacts, Partition | None, dict[str, Any]]] = {
    "column": (FACTS, COLUMN, {}),
    "named silos": (FACTS, NAMED, {}),
    "one silo": (FACTS, OneSilo("own"), {}),
    "iid": (FACTS, IidSilos(7), {}),
    "dirichlet": (FACTS, DirichletSilos(3, 0.5), {}),
    "capacity": (FACTS, COLUMN, {"record_capacity": {"north": 11, "east": 60, "south": 500}}),
    "capacity of one": (FACTS, OneSilo("own"), {"record_capacity": 1}),
    "exchanged": (FACTS, IidSilos(3), {"exchanged": True, "record_capacity": 25}),
    "by id": (replace(FACTS, id="patient"), COLUMN, {"record_capacity": 20}),
    "held-out": (FACTS, COLUMN, {"side": Side.HELD_OUT, "record_capacity": 9}),
    "asked": (replace(FACTS, asked=True, label=None), OneSilo("own"), {}),
    "outcome": (
        replace(FACTS, label="dose", label_range=(0.0, 1.0), ranges={"age": (20, 80)}, missing=frozenset()),
        IidSilos(2),
        {"test_fraction": 0.0},
    ),
    "persons": (PERSON, COLUMN, {"record_capacity": 12}),
    "persons dealt": (PERSON, IidSilos(3), {}),
}


WRITTEN_DOWN = {
    "column": "7caf9ec8679bcd24",
    "named silos": "f8ebbe7d19fa4c78",
    "one silo": "897efe90bff4e754",
    "iid": "3bca412054d586f4",
    "dirichlet": "1ee51ede475fabf1",
    "capacity": "bd04760a34b5758b",
    "capacity of one": "ee3f7dc6e2138952",
    "exchanged": "1665c7810e4291f2",
    "by id": "dbf8df37d42fa507",
    "held-out": "13fb3d9998bd7b6e",
    "asked": "3e6b277389c5cd17",
    "outcome": "f6b6c8b29e572ca3",
    "persons": "9851066df50ae8ec",
    "persons dealt": "d63eb65a7228222d",
}


FILES, FRAMES = "daba41b5e5a8f30d", "4127faf82d61b460"


@pytest.fixture(params=[1, 60, None], ids=["a row", "some rows", "all rows"])
def at_a_time(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads so many cells at once, and cuts rows as soon as there is one too many."""
    if request.param is not None:
        for module in (csv_file, parquet_file):
            monkeypatch.setattr(module, "CELLS_AT_A_TIME", request.param)
        monkeypatch.setattr(silo_rows, "_FEWEST_TO_CUT", 1)


def load(source: str, setting: str) -> Federation:
    facts, partition, options = SETTINGS[setting]
    return load_federation(source, partition=partition, facts=facts, split_seed=3, **options)


@pytest.mark.usefixtures("at_a_time")
@pytest.mark.parametrize("setting", SETTINGS)
def test_a_csv_file_makes_what_it_made(tmp_path: Path, setting: str) -> None:
    federation = load(f"csv:{write(tmp_path)}/part0.csv", setting)
    assert digest(federation) == WRITTEN_DOWN[setting]


@pytest.mark.usefixtures("at_a_time")
@pytest.mark.parametrize("setting", ["capacity", "iid", "persons"])
def test_a_parquet_file_makes_what_a_csv_file_makes(tmp_path: Path, setting: str) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "part0.parquet"
    parquet.write_table(arrow.table(columns()), path, row_group_size=70)
    whole = load(f"csv:{write(tmp_path)}/part0.csv", setting)
    streamed = load(f"parquet:{path}", setting)
    assert streamed.silo_names == whole.silo_names
    for own, expected in zip(streamed.silos, whole.silos, strict=True):
        assert np.array_equal(own.train.features, expected.train.features)
        assert np.array_equal(own.train.labels, expected.train.labels)
        assert np.array_equal(own.test.features, expected.test.features)
        assert own.surplus == expected.surplus


@pytest.mark.usefixtures("at_a_time")
def test_several_files_make_what_they_made(tmp_path: Path) -> None:
    source = f"csv:{write(tmp_path, parts=3)}/"
    federation = load_federation(source, facts=FACTS, split_seed=3, record_capacity=40)
    assert digest(federation) == FILES


def test_frames_make_what_they_made() -> None:
    table = columns()
    silos = {name: {own: cells[start::2] for own, cells in table.items()} for start, name in enumerate("ab")}
    federation = load_federation("memory", by_silo=silos, facts=FACTS, split_seed=3, record_capacity=30)
    assert digest(federation) == FRAMES


@pytest.mark.parametrize("test_fraction", [0.0, 0.5])
def test_a_silo_never_holds_many_more_records_than_its_capacity(
    tmp_path: Path, test_fraction: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table is cut while it is read: one that is encoded whole needs memory for all of it."""
    monkeypatch.setattr(csv_file, "CELLS_AT_A_TIME", 1)
    monkeypatch.setattr(silo_rows, "_FEWEST_TO_CUT", 1)
    most = 0
    add = GrowingRows.add

    def watched(self: GrowingRows, part: Any) -> None:
        nonlocal most
        add(self, part)
        most = max(most, len(self))

    monkeypatch.setattr(GrowingRows, "add", watched)
    federation = load_federation(
        f"csv:{write(tmp_path)}/part0.csv",
        partition=OneSilo("own"),
        facts=FACTS,
        test_fraction=test_fraction,
        record_capacity=10,
    )
    (silo,) = federation.silos
    assert len(silo.train) == 10
    assert silo.surplus > 100
    assert most <= max(10 + 10 // 8 + 2, len(silo.test))
