"""Counts of persons with several records: of persons, or of records, and the row says which."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet import Frames, Target, plan_questions, train
from discreet.statistics import Row

PERSONS, RECORDS = 200, 4


def hospitals(average_over: str) -> Frames:
    tables = {}
    for silo in ("north", "south", "west"):
        who = [f"{silo}-{place // RECORDS}" for place in range(PERSONS * RECORDS)]
        sex = ["f" if place // RECORDS % 4 else "m" for place in range(PERSONS * RECORDS)]
        age = [40 + place // RECORDS % 30 for place in range(PERSONS * RECORDS)]
        tables[silo] = {"who": who, "sex": sex, "age": age}
    person = {"column": "who", "most_records": 8, "average_over": average_over}
    return Frames(tables, ranges={"age": (20, 90)}, categories={"sex": ["f", "m"]}, person=person)


@pytest.mark.parametrize(("average_over", "each"), [("persons", 1), ("records", RECORDS)])
def test_a_count_says_what_it_counts(tmp_path: Path, average_over: str, each: int) -> None:
    own = hospitals(average_over)
    asked: list[dict[str, Any]] = [
        {"kind": "count"},
        {"kind": "table", "of": ["sex", "age"], "bins": {"age": 2}},
        {"kind": "table", "of": ["sex"]},
        {"kind": "moments", "of": ["age"]},
    ]
    plan = plan_questions(own.public(capacity=300), asked, target=Target(200.0, unit="person"))
    run = train(plan, own, out=tmp_path / "run", seed=1)
    count, crossed, table, moments = run.answers
    whole = 3 * PERSONS * each
    rows: dict[str, Row] = {row.name: row for answer in (count, table, moments) for row in answer.rows}
    for name, expected in (("count", whole), ("total", whole), ("sex=m: count", whole / 4)):
        row = rows[name]
        assert row.value == pytest.approx(expected, rel=0.05)
        assert row.low is not None
        assert row.high is not None
        assert row.low <= expected <= row.high
        assert row.remark == average_over
    # Shares and means are of the same kind of unit, whatever that is.
    assert rows["sex=m: share"].value == pytest.approx(0.25, abs=0.02)
    assert rows["sex=m: share"].remark == ""
    assert rows["age: mean"].value == pytest.approx(54.5, abs=1.0)
    assert crossed.grid is not None
    assert crossed.grid.corner.endswith(f"({average_over})")
    assert crossed.grid.rows[-1][1][-1].value == pytest.approx(whole, rel=0.05)
    told = "Counts are of records, of the first 8" if each > 1 else "A person counts as much as 1 in all"
    assert told in count.about
    assert run.verify()
