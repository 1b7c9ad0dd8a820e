"""One small finished run of the bundled federation, made by the command line."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from discreet.cli import main
from discreet.plan import load_plan
from discreet.report import state_budgets, write_report
from discreet.rounds import RunDirectory
from discreet.silo.policy import generate_key, load_key
from discreet.verify import seal_report, sign

HEART = Path(__file__).parents[2] / "support" / "tuned_heart.toml"

POLICY = """silo = "{silo}"
expires = 2099-01-01

[consortium]
public_key = "{zeros}"

[data]
source = "plan"

[budget]
max_epsilon = 3.0
max_delta = 1e-4
max_epsilon_per_training = 1.0
max_delta_per_training = 1e-4

[require]
max_colluding = 0
models = ["logistic"]
""".replace("{zeros}", 64 * "0")


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of eight rounds, sealed; tests that change it use `run_directory`."""
    folder = tmp_path_factory.mktemp("verify")
    text = HEART.read_text().replace("[run]", "[run]\nseed = 5")
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


@pytest.fixture(scope="session")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The coordinator's private key."""
    path = tmp_path_factory.mktemp("coordinator") / "coordinator.key"
    generate_key(path)
    return path


@pytest.fixture(scope="session")
def signed(finished: Path, key: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run with budgets of two silos, signed by the coordinator."""
    directory = Path(shutil.copytree(finished, tmp_path_factory.mktemp("signed") / "run"))
    folder = tmp_path_factory.mktemp("silos")
    for silo in ("cleveland", "hungary"):
        (folder / silo).mkdir()
        (folder / silo / "policy.toml").write_text(POLICY.format(silo=silo))
    state_budgets(RunDirectory(directory), load_plan(directory / "plan.json"), [folder])
    identity = load_key(key)
    write_report(directory, signer=identity.public_key.hex())
    seal_report(directory)
    sign(directory, identity)
    return directory


@pytest.fixture
def run_directory(finished: Path, tmp_path: Path) -> Path:
    """A copy of the run that a test may alter."""
    return Path(shutil.copytree(finished, tmp_path / "run"))
