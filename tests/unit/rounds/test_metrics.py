"""The file of metrics: whole lines are read strictly, a torn last one is left out and then replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.errors import ConfigurationError
from discreet.rounds import RunDirectory


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    directory = RunDirectory(tmp_path)
    for release in (1, 2):
        directory.append_metrics({"release": release, "accuracy": 0.5})
    return directory


def releases(directory: RunDirectory) -> list[int]:
    return [line["release"] for line in directory.read_metrics()]


def test_there_may_be_none(tmp_path: Path) -> None:
    assert RunDirectory(tmp_path).read_metrics() == []


def test_a_torn_last_line_is_left_out_and_the_next_one_takes_its_place(run: RunDirectory) -> None:
    with run.metrics.open("ab") as file:
        file.write(b'{"release": 3, "acc')
    assert releases(run) == [1, 2]
    run.append_metrics({"release": 4})
    assert releases(run) == [1, 2, 4]


def test_a_measurement_that_is_not_finite_can_be_read(run: RunDirectory) -> None:
    run.append_metrics({"release": 3, "loss": float("inf")})
    assert run.read_metrics()[-1]["loss"] == float("inf")


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"[1]", b'{"accuracy": 1}', b'{"release": "3"}', b'{"release": true}', b"\xff\xfe",
     b"[" * 100_000, b'{"release": ' + b"9" * 5000 + b"}"],
    ids=["empty", "cut", "list", "no release", "text", "truth", "not UTF-8", "deep", "long"],
)  # fmt: skip
def test_any_other_line_is_one_line_of_error_that_names_it(run: RunDirectory, line: bytes) -> None:
    with run.metrics.open("ab") as file:
        file.write(line + b"\n")
    with pytest.raises(ConfigurationError, match=r"metrics.jsonl must hold .*; line 3 is none") as refused:
        run.read_metrics()
    assert "\n" not in str(refused.value)
