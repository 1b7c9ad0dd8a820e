"""The end of a training dies at each file that it writes: it is done again, says the same, and is sealed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from discreet.config import load_config
from discreet.engines.local import Opening
from discreet.session import carry_out, nothing_left
from discreet.silo.policy import generate_key
from discreet.verify import VerificationFailure, verify

HEART = Path(__file__).parents[2] / "support" / "tuned_heart.toml"
WRITTEN = ("evaluation.json", "result.json", "report.json", "report.html", "signature.json", "manifest.json")


class Killed(BaseException):
    """Stands for SIGKILL."""


def dies_before(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The next file of this name is written whole beside its place, and never gets there."""
    replace = os.replace

    def watched(source: str | Path, target: str | Path) -> None:
        if Path(target).name == name:
            Path(source).unlink()
            raise Killed
        replace(source, target)

    monkeypatch.setattr(os, "replace", watched)


def test_an_end_that_dies_anywhere_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = load_config(HEART)
    training = config.training.model_copy(update={"rounds": 2})
    run = config.run.model_copy(update={"seed": 5, "compare": False, "dropouts": ()})
    config = config.model_copy(update={"training": training, "run": run})
    key, undisturbed, directory = tmp_path / "coordinator.key", tmp_path / "undisturbed", tmp_path / "run"
    generate_key(key)
    carry_out(config, undisturbed, opening=Opening.NEW, sign=key)
    assert nothing_left(config, undisturbed, key)
    opening, trained = Opening.NEW, dict[str, bytes]()
    for name in WRITTEN:
        with monkeypatch.context() as patch:
            dies_before(patch, name)
            with pytest.raises(Killed):
                carry_out(config, directory, opening=opening, sign=key)
        assert not nothing_left(config, directory, key), name
        with pytest.raises(VerificationFailure, match="has not finished"):
            list(verify(directory))
        if opening is Opening.NEW:
            opening, trained = Opening.RESUME, _contents(directory)
    # What an end with other measurements left is no part of this one.
    shutil.copy(directory / "evaluation.json", directory / "comparison.json")
    carry_out(config, directory, opening=opening, sign=key)
    assert nothing_left(config, directory, key)
    assert "signature" in {one.subject for one in verify(directory)}
    found, expected = _contents(directory), _contents(undisturbed)
    assert trained.items() <= found.items(), "plan, ledger, metrics, state and model stay as they were"
    assert found.keys() == expected.keys() >= set(WRITTEN)
    for name in ("evaluation.json", "result.json"):
        assert found[name] == expected[name], name
    # One that is done again over a seal takes that away before anything that it is of.
    with monkeypatch.context() as patch:
        dies_before(patch, "result.json")
        with pytest.raises(Killed):
            carry_out(config, directory, opening=opening, sign=key)
    assert not nothing_left(config, directory, key)


def _contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}
