"""A run that somebody handed over leads its reader nowhere: no file outside it is written or read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

import pytest

from discreet.errors import ConfigurationError
from discreet.plan import Plan
from discreet.rounds.directory import RunDirectory, write_durably
from discreet.rounds.opening import resume_ledger
from discreet.rounds.record import read_record


def test_a_link_beside_a_file_is_not_followed_when_the_file_is_replaced(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    run = tmp_path / "run"
    run.mkdir()
    (run / "report.html.tmp").symlink_to(victim)
    (run / "report.html").symlink_to(victim)
    write_durably(run / "report.html", b"theirs")
    assert victim.read_text() == "mine"
    assert (run / "report.html").read_bytes() == b"theirs"
    assert not (run / "report.html").is_symlink()


def test_a_file_that_cannot_be_replaced_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_durably(tmp_path / "folder", b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize(
    "name", ["plan.json", "ledger.jsonl", "metrics.jsonl", "state.safetensors", "report.html"]
)
def test_links_and_pipes_are_refused_before_they_are_opened(tmp_path: Path, name: str) -> None:
    (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(ConfigurationError, match=f"{name} must be a plain file"):
        read_record(tmp_path)
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(ConfigurationError, match=f"{name} must be a plain file"):
        RunDirectory(tmp_path).require_plain_files()


def test_a_training_goes_on_in_its_own_files_only(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    run = tmp_path / "run"
    run.mkdir()
    (run / "metrics.jsonl").symlink_to(victim)
    with pytest.raises(ConfigurationError, match="must be a plain file"):
        resume_ledger(RunDirectory(run), cast(Plan, None), seeded=False)
    assert victim.read_text() == "mine"
