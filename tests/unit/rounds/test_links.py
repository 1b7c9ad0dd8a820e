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


class Killed(BaseException):
    """As SIGKILL: nothing that follows is done, but the disk is as it was left."""


def killed_while_writing(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns what a write of a file leaves behind."""

    def ends(_: int) -> None:
        raise Killed

    before = set(path.parent.iterdir())
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", ends)
        with pytest.raises(Killed):
            write_durably(path, b"half")
    (left,) = set(path.parent.iterdir()) - before
    return left


def test_what_a_killed_write_left_behind_is_ours_and_nothing_else_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = RunDirectory(tmp_path / "run")
    run.prepare(overwrite=False)
    run.plan.write_text("{}")
    left = killed_while_writing(run.file("result.json"), monkeypatch)
    assert run.half_written() == (left,)
    others = ["notes.json.0123456789abcdef.tmp", "result.json.tmp", f"{left.name}.bak", "result.json.0g.tmp"]
    for name in others:
        run.file(name).touch()
        with pytest.raises(ConfigurationError, match="which is none of ours"):
            run.require_free(overwrite=True)
        run.file(name).unlink()
    run.file("plan.json.0123456789abcdef.tmp").symlink_to(tmp_path)
    assert run.half_written() == (left,)
    run.file("plan.json.0123456789abcdef.tmp").unlink()
    run.prepare(overwrite=True)
    assert list(run.path.iterdir()) == []


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
