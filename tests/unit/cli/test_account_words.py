"""``discreet account`` rounds up, judges, and claims no pure guarantee for Gaussian noise."""

from __future__ import annotations

import json
import re

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app


def account(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["account", *arguments])
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


@pytest.mark.parametrize("noise", ["0.7", "1.3", "4", "11"])
def test_what_is_printed_is_no_less_than_what_was_computed(noise: str) -> None:
    asked = ("--noise-multiplier", noise, "--delta", "3.3333e-6")
    exact = json.loads(account(*asked, "--json"))
    found = re.match(r"\(([\d.]+), ([\d.e-]+)\)-DP", account(*asked))
    assert found is not None
    assert float(found[1]) >= exact["epsilon"] > float(found[1]) - 0.001
    assert float(found[2]) >= exact["delta"]


def test_a_delta_that_underflows_is_not_zero() -> None:
    shown = account("--noise-multiplier", "1", "--epsilon", "1000", "--steps", "10")
    assert shown.startswith("(1000.000, < 1e-300)-DP")


def test_proven_is_not_good() -> None:
    shown = account("--noise-multiplier", "0.1", "--delta", "1e-5")
    assert "PROVEN" in shown
    assert "Judged by ε and δ alone: worthless: it allows an attacker to be almost certain" in shown
    shown = account("--noise-multiplier", "5", "--delta", "1e-3", "--records", "1000")
    assert "publishes one of 1,000 records at random would satisfy it" in shown
    asked = ("--noise-multiplier", "5", "--delta", "1e-5", "--records", "1000", "--json")
    assert json.loads(account(*asked))["judgement"].startswith("moderate: ")


def test_a_delta_is_judged_where_the_number_of_records_is_not_known() -> None:
    shown = account("--noise-multiplier", "5", "--delta", "0.5")
    assert "Judged by ε and δ alone: worthless" in shown
    assert "with 2 of them or more, a mechanism that publishes one at random would satisfy it" in shown
    assert "--records" in shown
    assert "--records" not in account("--noise-multiplier", "5", "--delta", "1e-5", "--records", "10")


def test_counts_are_written_as_a_person_would() -> None:
    assert "1 release, sampling none" in account("--noise-multiplier", "5", "--delta", "1e-5")
    assert "2 releases" in account("--noise-multiplier", "5", "--delta", "1e-5", "--steps", "2")
    asked = ["account", "--noise-multiplier", "5", "--delta", "1e-5", "--sampling", "poisson"]
    error = CliRunner().invoke(app, asked).exception
    assert str(error) == "--sampling-prob must be in (0, 1]; got nothing."
