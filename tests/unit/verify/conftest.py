"""One small finished run of the bundled federation, made by the command line."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from discreet.cli import main

HEART = Path(__file__).parents[3] / "examples" / "heart.toml"


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three rounds, sealed; tests that change it use `run_directory`."""
    folder = tmp_path_factory.mktemp("verify")
    text = HEART.read_text().replace("rounds = 5", "rounds = 3").replace("[run]", "[run]\nseed = 5")
    (folder / "heart.toml").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            sys, "argv", ["discreet", "run", str(folder / "heart.toml"), "--out", str(folder / "run"), "-q"]
        )
        main_returns()
    return folder / "run"


def main_returns() -> None:
    """Runs the command; typer ends by raising SystemExit, also when all went well."""
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code


@pytest.fixture
def run_directory(finished: Path, tmp_path: Path) -> Path:
    """A copy of the run that a test may alter."""
    return Path(shutil.copytree(finished, tmp_path / "run"))
