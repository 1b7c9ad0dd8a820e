"""The log: off by default, one line a step with -v, and nothing private in them."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.cli.log import LOGGER, LineFormatter, log
from discreet.log_line import LogFormat

HEART = Path(__file__).parents[2] / "support" / "tuned_heart.toml"


@pytest.fixture(autouse=True)
def quiet_again() -> Iterator[None]:
    """Takes the handlers away that a test turned on."""
    before = list(LOGGER.handlers)
    yield
    LOGGER.handlers[:] = before
    LOGGER.setLevel(logging.NOTSET)


def test_a_line_is_text_on_a_terminal_and_json_elsewhere(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="discreet"):
        log("round", release=3, spent='(1, 1e-5)-DP "per" record')
    line = LineFormatter(LogFormat.AUTO, terminal=True).format(caplog.records[0])
    assert "Z info round release=3 " in line
    assert line.endswith(r'spent="(1, 1e-5)-DP \"per\" record"')
    read = json.loads(LineFormatter(LogFormat.AUTO, terminal=False).format(caplog.records[0]))
    assert (read["level"], read["event"], read["release"]) == ("info", "round", 3)


def test_the_form_can_be_asked_for(tmp_path: Path) -> None:
    command = ["--log-format", "text", "-v", "run", str(HEART), "--out", str(tmp_path / "run"), "-q"]
    lines = CliRunner().invoke(app, command).stderr.splitlines()
    assert [line for line in lines if "Z info round release=1 " in line]


def test_nothing_is_logged_unless_asked_for(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["run", str(HEART), "--out", str(tmp_path / "run"), "-q"])
    assert result.exit_code == 0
    assert result.output == ""


def test_verbose_runs_log_each_round_and_no_measurement(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["-v", "run", str(HEART), "--out", str(tmp_path / "run"), "-q"])
    lines = result.stderr.splitlines()
    rounds = [line for line in lines if json.loads(line)["event"] == "round"]
    assert [line for line in lines if json.loads(line)["event"] == "plan"]
    assert [line for line in lines if json.loads(line)["event"] == "done" and '"manifest":' in line]
    assert rounds
    assert all("against the server" in line and "CONDITIONAL" in line for line in rounds[:-1])
    assert "PROVEN" in rounds[-1]
    assert not any("accuracy" in line or "loss" in line for line in lines)
