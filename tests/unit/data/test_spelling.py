"""One record's gap changes the type of a whole column, and must not change how another record is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.config import parse_data
from discreet.config.federation import federation_of
from discreet.data.federation import Federation
from discreet.data.spelling import spelling
from discreet.errors import DataError

ROWS = 60
# A column's cells as a tool writes them, and as it writes them once one cell of the column is missing.
SPELLINGS: dict[str, tuple[list[str], list[str]]] = {
    "whole": ([str(n % 3) for n in range(ROWS)], [f"{n % 3}.0" for n in range(ROWS)]),
    "long ids": (
        [str(10**17 + 1000 * n) for n in range(ROWS)],
        [repr(float(10**17 + 1000 * n)) for n in range(ROWS)],
    ),
    "dates": (
        [f"2020-05-{n % 28 + 1:02d}" for n in range(ROWS)],
        [f"2020-05-{n % 28 + 1:02d} 00:00:00" for n in range(ROWS)],
    ),
}


def read(folder: Path, cells: list[str], role: str, declared: list[str]) -> Federation:
    draw = np.random.default_rng(0)
    ages, ill = draw.integers(20, 90, ROWS), draw.integers(0, 2, ROWS)
    table = {"age": ages.astype(str), "ill": ill.astype(str), "where": np.array(["0", "1", "2"] * 20)}
    name = {"label": "ill", "category": "sort", "silo": "where", "id": "who"}[role]
    table[name] = np.array(cells)
    lines = [",".join(table), *(",".join(row) for row in zip(*table.values(), strict=True))]
    path = folder / "records.csv"
    path.write_text("\n".join(lines) + "\n")
    facts: dict[str, Any] = {
        "source": f"csv:{path}",
        "label": "ill",
        "ranges": {"age": (20, 90)},
        "partition": {"kind": "column", "column": "where"},
    }
    if role == "label":
        facts["classes"] = declared
    if role == "category":
        facts["categories"] = {"sort": declared}
    if role == "silo":
        facts["partition"]["names"] = declared
    if role == "id":
        facts["id"] = "who"
    return federation_of(parse_data(facts))


def sizes_and_features(federation: Federation) -> list[Any]:
    return [(len(silo.train), silo.train.features.tolist(), len(silo.test)) for silo in federation.silos]


@pytest.mark.parametrize("role", ["label", "category", "silo", "id"])
@pytest.mark.parametrize("declared", [["0", "1", "2"], ["0.0", "1.0", "2.0"]], ids=["whole", "decimal"])
def test_decimals_change_nothing_whichever_of_both_were_declared(
    tmp_path: Path, role: str, declared: list[str]
) -> None:
    one, other = (sizes_and_features(read(tmp_path, cells, role, declared)) for cells in SPELLINGS["whole"])
    assert one == other
    assert sum(train + test for train, _, test in one) == ROWS


CODES = ("999000681000001100", "999000691000001102", "120000000000000000")
# What a tool writes, and what it writes once another record holds a blank, a finer number, or no number.
VALUES: dict[str, tuple[list[str], list[str], list[str]]] = {
    "codes beyond 2^53": (
        [CODES[n % 3] for n in range(ROWS)], [repr(float(CODES[n % 3])) for n in range(ROWS)], list(CODES)
    ),
    "finer decimals": (
        [f"{n % 3 + 0.5}" for n in range(ROWS)], [f"{n % 3 + 0.5:.2f}" for n in range(ROWS)],
        ["0.5", "1.5", "2.5"],
    ),
    "leading zeros": (
        [f"{n % 3:02d}" for n in range(ROWS)], [f"{n % 3}" for n in range(ROWS)], ["00", "01", "02"]
    ),
    "exponents": (
        [f"{n % 3 + 1}e5" for n in range(ROWS)], [f"{n % 3 + 1}00000.0" for n in range(ROWS)],
        ["1e5", "2e5", "3e5"],
    ),
    "truth values": (
        [("TRUE", "FALSE", "?")[n % 3] for n in range(ROWS)], [("1", "0", "?")[n % 3] for n in range(ROWS)],
        ["True", "False", "?"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("role", ["label", "category", "silo"])
@pytest.mark.parametrize("kind", VALUES)
def test_values_are_known_by_what_they_are_worth(tmp_path: Path, kind: str, role: str) -> None:
    written, otherwise, declared = VALUES[kind]
    one, other = (sizes_and_features(read(tmp_path, cells, role, declared)) for cells in (written, otherwise))
    assert one == other
    assert sum(train + test for train, _, test in one) == ROWS


@pytest.mark.parametrize("kind", ["long ids", "dates"])
def test_the_coins_of_ids_are_those_of_their_values(tmp_path: Path, kind: str) -> None:
    one, other = (sizes_and_features(read(tmp_path, cells, "id", [])) for cells in SPELLINGS[kind])
    assert one == other


@pytest.mark.parametrize("role", ["label", "category", "silo"])
def test_two_spellings_of_one_value_cannot_both_be_declared(tmp_path: Path, role: str) -> None:
    with pytest.raises(DataError, match="distinct"):
        read(tmp_path, SPELLINGS["whole"][0], role, ["1", "1.0", "2"])


def test_codes_that_floats_cannot_tell_apart_cannot_both_be_declared(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="distinct"):
        read(tmp_path, ["1"] * ROWS, "category", ["100000000000000001", "100000000000000002"])


@pytest.mark.parametrize("text", ["", "nan", "inf", "stage 1.0", "1.5", "2020-05-17 08:30", "0x10"])
def test_other_texts_stay(text: str) -> None:
    assert spelling(text) == text
