"""The results page says what the CSV files say, and the CSV files are of the present expectations."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.reproduction import NOT_RUN, Scale, find

ROOT = Path(__file__).parents[2]
CSVS = sorted((ROOT / "reproductions" / "results").glob("*.csv"))


def test_page_is_up_to_date() -> None:
    script = ROOT / "docs" / "results.py"
    assert subprocess.run([sys.executable, str(script), "--check"], check=False).returncode == 0


@pytest.mark.parametrize("path", CSVS, ids=lambda path: path.stem)
def test_csv_has_exactly_the_expected_cells(path: Path) -> None:
    name, _, scale = path.stem.rpartition("-")
    expected = find(ROOT / "reproductions", name).expectations.cells[Scale(scale)]
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["cell"] for row in rows} == set(expected)
    assert not [row["cell"] for row in rows if row["verdict"] == "OUTSIDE"]
    skipped = [row for row in rows if row["verdict"] == "skipped"]
    assert {row["note"] for row in skipped} <= ({NOT_RUN} if scale == "full" else set())
    assert len(skipped) < len(rows)
    assert path.with_suffix(".svg").exists()
