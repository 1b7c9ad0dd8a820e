"""The table of docs/performance.md comes from the rows that the benchmarks keep."""

from pathlib import Path

import pytest

from rows import KEPT_IN, Row, keep, kept
from speed_table import BEGIN, END, PAGE, table, written


def test_rows_come_back_as_they_were_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [Row("a step", 1.25, "×", 1.3), Row("two threads", 1.5, "×", 1.7, more_is_better=True)]
    monkeypatch.setenv(KEPT_IN, str(path))
    for row in rows:
        keep(row)
    assert kept(path) == rows


def test_nothing_is_kept_without_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEPT_IN, raising=False)
    keep(Row("a step", 1.25, "×"))
    assert kept(tmp_path / "rows.jsonl") == []


def test_a_miss_is_told_in_either_direction() -> None:
    rows = [
        Row("met", 1.0, "s", 1.0),
        Row("too slow", 1.1, "s", 1.0),
        Row("too little", 1.5, "×", 1.7, more_is_better=True),
    ]
    lines = table({"training.py": rows}).splitlines()[-3:]
    assert ["missed" in line for line in lines] == [False, True, True]


def test_the_page_keeps_its_text_around_the_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    before, after = page.split(BEGIN)[0], page.split(END)[-1]
    assert written(page, "new") == f"{before}{BEGIN}\nnew\n{END}{after}"


def test_a_page_without_its_marks_is_left_alone() -> None:
    with pytest.raises(SystemExit, match="must hold the lines"):
        written("no marks", "new")
