"""``discreet account``: flags, JSON keys, refusals."""

import json
import math
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from discreet.cli.account import account
from discreet.errors import ConfigurationError, UnsupportedAnalysisError

APP = typer.Typer()
APP.command()(account)
KEYS = {
    "epsilon",
    "judgement",
    "delta",
    "noise_multiplier",
    "accountant",
    "conversion",
    "order",
    "neighboring_relation",
    "sampling",
    "steps",
    "status",
    "assumptions",
}
POISSON = "--sampling poisson --sampling-prob 0.01 --steps 1000 --delta 1e-5"


def run(arguments: str) -> Result | None:
    return CliRunner().invoke(APP, [*arguments.split(), "--json"], catch_exceptions=False)


def facts(arguments: str) -> dict[str, Any]:
    result = run(arguments)
    assert result.exit_code == 0
    return json.loads(result.stdout)


def test_loss_distribution_by_default() -> None:
    found = facts(f"--noise-multiplier 1 {POISSON}")
    assert set(found) == KEYS
    assert found["epsilon"] == pytest.approx(1.82824, abs=1e-4)
    assert (found["accountant"], found["order"], found["conversion"]) == ("pld", None, None)
    assert (found["status"], found["neighboring_relation"]) == ("PROVEN", "add-remove")


def test_published_table_by_renyi() -> None:
    found = facts(
        "--noise-multiplier 2.18 --sampling poisson --sampling-prob 0.1 --delta 1e-5 --accountant rdp "
        "--conversion mironov --orders 2:256"
    )
    assert found["epsilon"] == pytest.approx(0.64, abs=0.03)
    assert found["conversion"] == "mironov"
    assert found["order"] == round(found["order"])


def test_calibration_and_delta() -> None:
    found = facts(f"--target-epsilon 3 {POISSON}")
    assert found["noise_multiplier"] == pytest.approx(0.813685, rel=1e-3)
    assert found["epsilon"] <= 3.0
    assert facts("--noise-multiplier 1 --epsilon 1")["delta"] == pytest.approx(0.126937, abs=1e-6)


@pytest.mark.parametrize("mechanism", ["rounded-gaussian", "discrete-gaussian", "skellam"])
def test_integer_noise(mechanism: str) -> None:
    found = facts(
        f"--mechanism {mechanism} --noise-multiplier 2 --steps 10 --delta 1e-5 --stddev-units 262144 "
        "--dim 100000"
    )
    assert found["epsilon"] == pytest.approx(7.51128, rel=1e-4)
    with pytest.raises(ConfigurationError, match="--stddev-units"):
        run(f"--mechanism {mechanism} --noise-multiplier 2 --delta 1e-5")


def test_poisson_binomial() -> None:
    flags = "--mechanism poisson-binomial --noise-multiplier 4 --delta 1e-5 --stddev-units 20 --dim 3"
    found = facts(f"{flags} --neighboring replace-one")
    assert found["accountant"] == "rdp"
    assert 0.0 < found["epsilon"] < 20.0
    with pytest.raises(UnsupportedAnalysisError, match="public"):
        run(flags)
    with pytest.raises(UnsupportedAnalysisError, match="sampled"):
        run(f"{flags} --sampling poisson --sampling-prob 0.1")


def test_nothing_to_promise_is_null() -> None:
    found = facts("--noise-multiplier 0.0201 --sampling poisson --sampling-prob 0.9 --delta 1e-300")
    assert found["epsilon"] is None or found["epsilon"] > 1e3


@pytest.mark.parametrize(
    "arguments",
    [
        "--noise-multiplier nan --delta 1e-5",
        "--noise-multiplier 1 --delta 0",
        "--noise-multiplier 1 --delta nan",
        "--noise-multiplier 1",
        "--noise-multiplier 1 --delta 1e-5 --epsilon 1",
        "--delta 1e-5",
        "--noise-multiplier 1 --target-epsilon 1 --delta 1e-5",
        "--target-epsilon 1",
        "--noise-multiplier 1 --delta 1e-5 --sampling poisson",
        "--noise-multiplier 1 --delta 1e-5 --sampling poisson --sampling-prob 1.2",
        "--noise-multiplier 1 --delta 1e-5 --sampling-prob 0.2",
        "--noise-multiplier 1 --delta 1e-5 --orders 2:9",
        "--noise-multiplier 1 --delta 1e-5 --accountant rdp --orders 1:9",
        "--noise-multiplier 1 --delta 1e-5 --steps 0",
    ],
)
def test_bad_requests_are_one_clear_error(arguments: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        run(arguments)
    assert refusal.value.exit_code == 2
    assert "\n" not in str(refusal.value)


def test_fixed_size_needs_replacement() -> None:
    flags = "--noise-multiplier 2 --sampling fixed-size --sampling-prob 0.01 --steps 1000 --delta 1e-5"
    with pytest.raises(UnsupportedAnalysisError, match="replace-one"):
        run(flags)
    found = facts(f"{flags} --neighboring replace-one --accountant rdp")
    assert found["epsilon"] == pytest.approx(3.576111, rel=1e-6)
    assert math.isfinite(found["order"])


def test_plain_text() -> None:
    result = CliRunner().invoke(APP, ["--noise-multiplier", "1", "--delta", "1e-5"])
    assert "(4.378, 1e-5)-DP" in result.stdout  # 4.37718… rounded up
    assert "add-remove" in result.stdout
