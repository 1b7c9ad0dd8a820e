"""What the first commands write and say: nothing tuned, and who is missing out of how many."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.config import load_config
from discreet.kinds import UntunedStepsConfig


def test_written_configs_leave_every_setting_to_the_plan(tmp_path: Path) -> None:
    project, config, table = tmp_path / "study", tmp_path / "own.toml", tmp_path / "p.csv"
    table.write_text("site,age,sick\na,30,no\nb,40,yes\nc,50,no\n")
    runner = CliRunner()
    assert runner.invoke(app, ["new", str(project)]).exit_code == 0
    stated = ["--source", f"csv:{table}", "--silos", "site", "--label", "sick", "--features", "age=20:90"]
    found = runner.invoke(app, ["init", str(config), *stated, "--epsilon", "1", "--capacity", "400"])
    assert found.exit_code == 0, found.output
    for path in (project / "config.toml", config):
        training = load_config(path).training
        assert isinstance(training.local, UntunedStepsConfig)
        assert training.rounds == "auto"
