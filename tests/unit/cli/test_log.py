"""The log: off by default, key=value lines with -v, and nothing private in them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.cli.log import LOGGER, KeyValueFormatter, log

HEART = Path(__file__).parents[3] / "examples" / "heart.toml"


@pytest.fixture(autouse=True)
def quiet_again() -> Iterator[None]:
    """Takes the handlers away that a test turned on."""
    before = list(LOGGER.handlers)
    yield
    LOGGER.handlers[:] = before
    LOGGER.setLevel(logging.NOTSET)


def test_a_line_holds_key_value_pairs(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="discreet"):
        log("round", release=3, spent='(1, 1e-5)-DP "per" record')
    line = KeyValueFormatter().format(caplog.records[0])
    assert " level=info event=round release=3 " in line
    assert line.endswith(r'spent="(1, 1e-5)-DP \"per\" record"')


def test_nothing_is_logged_unless_asked_for(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["run", str(HEART), "--out", str(tmp_path / "run"), "-q"])
    assert result.exit_code == 0
    assert result.output == ""


def test_verbose_runs_log_each_round_and_no_measurement(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["-v", "run", str(HEART), "--out", str(tmp_path / "run"), "-q"])
    lines = result.stderr.splitlines()
    rounds = [line for line in lines if "event=round" in line]
    assert [line for line in lines if "event=plan" in line]
    assert [line for line in lines if "event=done" in line and "manifest=" in line]
    assert rounds
    assert all("against the server" in line and "PROVEN" in line for line in rounds)
    assert not any("accuracy" in line or "loss" in line for line in lines)
