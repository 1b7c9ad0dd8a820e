"""A small training on tables with text labels, and rows with odd cells that it is asked about."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from discreet.cli import main
from discreet.quality import Quality, quality_from_json
from discreet.session import Frames, Run, Target, plan_training, train

ROWS = {
    "sex": ["f", "m", "m", "?", "f"],
    "ward": ["7", "7", "8", "8", "9"],
    "weight": ["70.5", "", "61", "100", "900"],
    "age": ["25", "61", "85", "130", "48"],
    "born": ["1960-05-17", "", "1890-01-01", "2010-12-31", "1999-02-28"],
    "seen": ["2020-06-30", "2030-01-01", "", "2020-01-01", "2020-12-31"],
    "note": ["a", "", "b", "a", ""],
    "patient": ["ann", "bob", "cid", "dee, the 4th", "eve"],
}


class Said(NamedTuple):
    """What a command printed."""

    out: str
    err: str


def told(run: Run, discreet: Callable[..., Said], folder: Path) -> tuple[str, str, Quality]:
    """Returns a run's card, its report, and its measurements as they are written, all verified."""
    discreet("export", run.path, "--card", folder / "card.md")
    assert any(one.subject == "evaluation.json" for one in run.verify())
    quality = quality_from_json(json.loads((run.path / "evaluation.json").read_text()))
    assert isinstance(quality, Quality)
    card, page = folder / "card.md", run.path / "report.html"
    return card.read_text(encoding="utf-8"), page.read_text(encoding="utf-8"), quality


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    frames = Frames(
        {name: _table(120, seed) for seed, name in enumerate(("west", "north", "east"))},
        label="ill",
        classes=("no", "yes"),
        ranges={"age": (20, 90), "weight": (40, 120)},
        categories={"sex": ("f", "m")},
    )
    plan = plan_training(frames.public(capacity=130), target=Target(8.0), rounds=4)
    return train(plan, frames, out=tmp_path_factory.mktemp("released") / "run", seed=3)


def _table(count: int, seed: int) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    age = draw.integers(20, 90, count)
    return {
        "age": age,
        "weight": draw.normal(75, 12, count).clip(41, 119),
        "sex": draw.choice(["f", "m"], count),
        "ill": np.where(age + draw.normal(0, 6, count) > 55, "yes", "no"),
    }


@pytest.fixture
def csv_file(tmp_path: Path) -> Callable[..., Path]:
    """Writes `ROWS` with changes; None takes a column away."""

    def write(name: str = "new.csv", **changes: Any) -> Path:
        columns = {key: value for key, value in {**ROWS, **changes}.items() if value is not None}
        with (tmp_path / name).open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(columns)
            table.writerows(zip(*columns.values(), strict=True))
        return tmp_path / name

    return write


@pytest.fixture
def discreet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Runs a command in this process."""

    def call(*words: object, expect: int = 0) -> Said:
        monkeypatch.setattr(sys, "argv", ["discreet", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        said = Said(*capsys.readouterr())
        assert code == expect, said
        return said

    return call
