"""A folder that is in the way is refused before any record is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.config import Config
from discreet.engines.local import Opening, job, run
from discreet.errors import ConfigurationError


def _read_nothing(*_: object, **__: object) -> None:
    raise AssertionError("records were read")


def test_a_file_above_is_told_at_once(heart: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "letter.txt").write_text("mine")
    monkeypatch.setattr(job, "prepare", _read_nothing)
    with pytest.raises(ConfigurationError, match=r"folder must be in a directory; .*letter\.txt is a file"):
        run(heart, tmp_path / "letter.txt" / "run")


@pytest.mark.parametrize("opening", [Opening.NEW, Opening.OVERWRITE])
def test_what_lies_there_is_told_at_once(
    heart: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opening: Opening
) -> None:
    (tmp_path / "letter.txt").write_text("mine")
    monkeypatch.setattr(job, "prepare", _read_nothing)
    with pytest.raises(ConfigurationError, match=r"must be new or empty|must hold an earlier training alone"):
        run(heart, tmp_path, opening=opening)
    assert [item.name for item in tmp_path.iterdir()] == ["letter.txt"]


def test_a_folder_that_cannot_be_written_is_told_at_once(
    heart: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "prepare", _read_nothing)
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(ConfigurationError, match=r"where files can be written; .* is read-only"):
        run(heart, tmp_path / "deep" / "run")
    assert not (tmp_path / "deep").exists()
