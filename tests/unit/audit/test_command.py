"""The command: one table, JSON, and an exit code that says whether the claims held."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.errors import ConfigurationError
from tests.unit.audit.audited_configs import HEART
from tests.unit.audit.test_planted_bugs import plant_half_the_noise

FEW = ["--canaries", "64", "--trials", "8", "--quiet"]


def test_audit_of_the_demo_prints_one_table() -> None:
    result = CliRunner().invoke(app, ["audit", str(HEART), *FEW], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    assert "input-space canaries" in result.output
    assert "noise law, 7 checks" in result.output
    assert "local training, 4 silos; worst" in result.output
    assert "the same sums, one record fewer" in result.output
    assert "EXCEEDED" not in result.output
    assert "saw nothing" in result.output
    assert "attacks exceeded a claim; " in result.output


def test_audit_of_a_finished_run_uses_its_plan(tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert CliRunner().invoke(app, ["run", str(HEART), "--out", str(out), "--quiet"]).exit_code == 0
    plan = json.loads((out / "plan.json").read_text())["digest"]
    result = CliRunner().invoke(app, ["audit", str(out), *FEW, "--json"])
    assert result.exit_code == 0
    document = json.loads(result.output)
    assert document["plan"] == plan
    assert document["exceeded"] is False
    kinds = {finding["kind"] for finding in document["findings"]}
    assert kinds == {"CanaryFinding", "NoiseFinding", "PostProcessingFinding", "SensitivityFinding"}


def test_exit_code_is_one_when_a_claim_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    plant_half_the_noise(monkeypatch)
    result = CliRunner().invoke(app, ["audit", str(HEART), *FEW])
    assert result.exit_code == 1
    assert "EXCEEDED" in result.output


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("no-such.toml", "no-such.toml: No such file"),
        (
            ".",
            r"TARGET must be a TOML config or the directory of a run; the directory \. holds no plan\.json",
        ),
        ("plain.toml", r"plain\.toml must be valid TOML"),
    ],
)
def test_a_target_that_is_none_is_refused_in_one_line(
    target: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plain.toml").write_text("not toml")
    result = CliRunner().invoke(app, ["audit", target])
    assert result.exit_code != 0
    assert isinstance(result.exception, ConfigurationError)
    assert re.search(message, str(result.exception))
    assert "\n" not in str(result.exception)


@pytest.mark.parametrize("option", [["--canaries", "3"], ["--confidence", "1"], ["--seed", "-1"]])
def test_bad_settings_are_refused(option: list[str]) -> None:
    result = CliRunner().invoke(app, ["audit", str(HEART), *option])
    assert result.exit_code != 0
    assert option[0].removeprefix("--") in str(result.exception)


def test_the_search_for_crafted_neighbours_ends_with_a_conclusion() -> None:
    result = CliRunner().invoke(app, ["audit", str(HEART), "--crafted", "--trials", "2"])
    assert result.exit_code == 0, result.output
    assert "attacks exceeded a claim" in " ".join(result.output.split())
