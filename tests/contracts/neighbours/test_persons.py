"""A whole person more or less in a silo's file, from the file to the integers; for every kind and source."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.audit.crafted_records import LARGEST, SMALLEST
from discreet.audit.crafted_search import record_findings
from discreet.audit.neighbours import Rounds
from discreet.config import Config, parse_config
from discreet.config.federation import federation_of
from discreet.data import Records
from discreet.models import build_model, described, flatten
from discreet.plan import federation_facts, make_plan
from discreet.randomness import SeededRandom
from discreet.rounds import initial_state
from discreet.silo.records import load_records
from tests.contracts.neighbours import own_code
from tests.contracts.neighbours.test_neighbours import told_apart
from tests.contracts.neighbours.worlds import IMAGE, KINDS, LINEAR_ONLY, OWN

PERSON_KINDS = [name for name in KINDS if name != "clipped-update"]
MOST = 4
HEADER = "who,age,smoker,sick,site"
# What a cell or a name may hold.
ODD = ("", "nan", "1e999", "-inf", '"', "ß" * 300, "0", str(LARGEST), str(SMALLEST), "yes")


def person_table(average_over: str = "persons") -> dict[str, Any]:
    return {"column": "who", "capacity": 40, "most_records": MOST, "average_over": average_over}


def config(name: str, data: dict[str, Any], model: str, average_over: str = "persons") -> Config:
    kind = KINDS[name]
    training = {"rounds": 1, "local": kind["local"]}
    training |= {"sampling": kind["sampling"]} if "sampling" in kind else {}
    return parse_config(
        {
            "data": {"person": person_table(average_over), **data},
            "model": {"name": model},
            "training": training,
            "privacy": {"epsilon": 4.0, "delta": 1e-5, **kind["privacy"], "unit": "person"},
            "aggregation": {"protocol": "bonawitz"},
        },
        source="test",
    )


def planned(asked: Config, shape: tuple[int, ...], classes: int, bound: float | None) -> Rounds:
    model = build_model(asked.model.name, shape, classes, seed=0)
    facts = federation_facts(
        own_code.SILOS,
        feature_shape=shape,
        num_classes=classes,
        feature_norm_bound=bound,
        model=described(model, shape),
    )
    return Rounds(make_plan(asked, facts), model, "a")


@pytest.mark.parametrize("average_over", ["persons", "records"])
@pytest.mark.parametrize("name", PERSON_KINDS)
def test_crafted_persons_move_the_integers_by_the_claim(name: str, average_over: str) -> None:
    linear = KINDS[name]["local"]["kind"] == LINEAR_ONLY
    model, shape = ("logistic", (129,)) if linear else (f"{OWN}:rectified", IMAGE)
    data = {"source": "npz:unset.npz", "num_classes": 3}
    rounds = planned(config(name, data, model, average_over), shape, 3, 1.0 if linear else None)
    start = initial_state(rounds.plan, flatten(rounds.model)).announced()
    trials = 10 if name == "sharded" else 26
    findings = list(record_findings(rounds, start, trials=trials, source=SeededRandom(4)))
    assert not told_apart(findings)
    if "single" in name:
        assert max(found.largest for found in findings) >= 0.95


Row = tuple[str, str, str, str]


def visits(seed: int = 1) -> list[Row]:
    """Visits of twenty people, 1 to 6 of each, in one silo; some are copies of one another."""
    source = SeededRandom(seed)
    found = []
    for number in range(20):
        count = 1 + int(source.integers_below(1, 6)[0])
        for _ in range(count):
            age = f"{60 * float(source.uniform(1)[0]):.3f}"
            smoker = ("no", "yes")[int(source.integers_below(1, 2)[0])]
            found.append((f"p{number}", age, smoker, str(int(source.integers_below(1, 2)[0]))))
    found[4::9] = [(who, *found[0][1:]) for who, *_ in found[4::9]]
    order = np.argsort(source.uniform(len(found)))
    return [found[place] for place in order.tolist()]


def neighbours(rows: list[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Everything of one person missing; one cell of hers another; one visit less; a name less."""
    for number in (0, 3, 7, 12, 19):
        yield f"without p{number}", [row for row in rows if row[0] != f"p{number}"]
    for place in (0, len(rows) // 2, len(rows) - 1):
        yield f"without visit {place}", [row for at, row in enumerate(rows) if at != place]
        for odd in ODD:
            changed = odd.replace('"', '""')
            for column in (1, 2, 3):
                row = list(rows[place])
                row[column] = f'"{changed}"'
                yield f"{odd[:8]!r} in column {column}", [*rows[:place], tuple(row), *rows[place + 1 :]]  # type: ignore[list-item]


def csv_world(name: str, engine: str, folder: Path) -> tuple[Rounds, Callable[[list[Row]], Records]]:
    linear = KINDS[name]["local"]["kind"] == LINEAR_ONLY
    data = {
        "source": "csv:unset.csv",
        "label": "sick",
        "ranges": {"age": [0.0, 60.0]},
        "categories": {"smoker": ["no", "yes"]},
        "partition": {"kind": "column", "column": "site", "names": list(own_code.SILOS)},
    }
    asked = config(name, data, "logistic" if linear else f"{OWN}:smooth")
    rounds = planned(asked, (4,), 2, 1.0)

    def read(rows: list[Row]) -> Records:
        path = folder / f"{os.getpid()}.csv"
        path.write_text(
            "\n".join([HEADER, *(",".join((*row, "a")) for row in rows)]) + "\n", encoding="utf-8"
        )
        if engine == "real":
            return load_records(f"csv:{path}", rounds.plan, "a")
        return federation_of(asked.data.model_copy(update={"source": f"csv:{path}"})).silo("a").train

    return rounds, read


@pytest.mark.parametrize("engine", ["local", "real"])
@pytest.mark.parametrize("name", PERSON_KINDS)
def test_a_person_of_the_file_moves_the_integers_by_the_claim(name: str, engine: str, tmp_path: Path) -> None:
    rounds, read = csv_world(name, engine, tmp_path)
    start = initial_state(rounds.plan, flatten(rounds.model)).announced()
    rows = visits()
    base = read(rows)
    moved = 0.0
    for seed, (what, other) in enumerate(neighbours(rows)):
        if name != "single-step" and "column" in what:
            continue
        found = rounds.compare(base, read(other), parameters=start, seed=seed)
        assert not found.differences, what
        assert found.moved <= 1.0, what
        moved = max(moved, found.moved)
    assert moved > 0.05
