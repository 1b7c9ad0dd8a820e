"""How much of a budget is used is one number, whatever composes it; two numbers mislead under a filter."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.engines.flower.service import serve_training
from discreet.health import read_silo_status
from discreet.health.exposition import exposition
from discreet.privacy.notation import delta_text, epsilon_text, pair_text
from discreet.report.owner_spending import spending
from tests.engines.conftest import DirectWire, SmallConsortium
from tests.engines.health.conftest import Watched
from tests.unit.health.exposition_text import parse

NAME = "hungary"
YEAR = "max_epsilon_per_year = 2.0\nmax_delta_per_year = 1e-3\n"


def composed(consortium: SmallConsortium, composition: str, more: str = "") -> None:
    text = consortium.folder.policy(NAME).read_text()
    old = next(line for line in text.splitlines() if line.startswith("max_epsilon ="))
    consortium.edit_policy(NAME, old, f'composition = "{composition}"\nmax_epsilon = 8.0\n{more}')


def shares(watched: Watched) -> dict[str, float]:
    found = parse(exposition(watched.watch.metrics())).values()
    return {
        dict(labels)["limits"]: value
        for (name, labels), value in found.items()
        if name == "discreet_silo_budget_share"
    }


def status_json(consortium: SmallConsortium) -> dict[str, Any]:
    asked = CliRunner().invoke(app, ["silo", "status", str(consortium.folder.policy(NAME)), "--json"])
    assert asked.exit_code == 0, asked.output
    found: dict[str, Any] = json.loads(asked.output)
    return found


@pytest.mark.parametrize("composition", ["sum", "renyi", "gaussian"])
def test_monitor_status_and_budget_say_one_share(
    consortium: SmallConsortium,
    direct_wire: type[DirectWire],
    watched: Callable[[str], Watched],
    composition: str,
) -> None:
    composed(consortium, composition, YEAR)
    silo = watched(NAME)
    assert shares(silo) == {"lifetime": 0.0, "year": 0.0}
    serve_training(direct_wire(consortium.silos), consortium.folder.server, patience_seconds=0.05)
    odometer = read_silo_status(silo.policy).odometer
    assert odometer.year is not None
    assert shares(silo) == {"lifetime": odometer.lifetime.share, "year": odometer.year.share}
    assert 0.0 < odometer.lifetime.share != odometer.year.share > 0.0
    read = status_json(consortium)
    assert read["share"] == shares(silo)
    assert (read["left"] is None) == (composition != "sum")
    assert shares(watched(NAME)) == read["share"], "and after a new start"


def test_without_limits_of_a_year_there_is_none(
    consortium: SmallConsortium, watched: Callable[[str], Watched]
) -> None:
    composed(consortium, "renyi")
    assert shares(watched(NAME)) == {"lifetime": 0.0}
    assert status_json(consortium)["share"] == {"lifetime": 0.0, "year": None}
    assert not any("this year" in line for line in read_silo_status(consortium.folder.policy(NAME)).lines())


def test_the_text_says_what_is_left_of_the_year_too(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    composed(consortium, "renyi", YEAR)
    serve_training(direct_wire(consortium.silos), consortium.folder.server, patience_seconds=0.05)
    status = read_silo_status(consortium.folder.policy(NAME))
    assert status.year_share is not None
    (line,) = [line for line in status.lines() if line.startswith("left")]
    assert f"{100 * (1 - status.share):.1f} % of the budget, and " in line
    assert f"{100 * (1 - status.year_share):.1f} % of the budget of this year" in line


@pytest.mark.parametrize("composition", ["sum", "renyi"])
def test_a_dry_run_says_what_is_left_as_the_status_does(
    consortium: SmallConsortium, composition: str, direct_wire: type[DirectWire]
) -> None:
    composed(consortium, composition)
    policy, plan = str(consortium.folder.policy(NAME)), str(consortium.folder.server.path / "plan.json")
    asked = CliRunner().invoke(app, ["check", policy, plan, "--json"])
    assert asked.exit_code == 0, asked.output
    found, words = json.loads(asked.output), CliRunner().invoke(app, ["check", policy, plan]).output
    serve_training(direct_wire(consortium.silos), consortium.folder.server, patience_seconds=0.05)
    read = status_json(consortium)
    assert found["share"] == pytest.approx(read["share"]["lifetime"])
    if composition == "sum":
        assert found["left"] == pytest.approx([read["left"]["epsilon"], read["left"]["delta"]])
    else:
        assert found["left"] is None
        assert f"{100 * (1 - found['share']):.1f} % of the policy's total" in words


@pytest.mark.parametrize("composition", ["sum", "renyi", "gaussian"])
def test_what_was_spent_under_a_filter_is_at_the_whole_delta(
    consortium: SmallConsortium, composition: str, direct_wire: type[DirectWire]
) -> None:
    composed(consortium, composition)
    policy = str(consortium.folder.policy(NAME))
    serve_training(direct_wire(consortium.silos), consortium.folder.server, patience_seconds=0.05)
    status = read_silo_status(consortium.folder.policy(NAME))
    (spent,) = [line for line in status.lines() if line.startswith("spent")]
    budget = " ".join(CliRunner().invoke(app, ["silo", "budget", policy]).output.split())
    whole = f"at the budget's δ {delta_text(status.budget.max_delta)}"
    share = f"{100 * (1 - status.share):.1f} %"
    if composition == "sum":
        assert spent == f"spent  {pair_text(status.epsilon, status.delta)}"
        assert f"{share} of ε or of δ, whichever is less, is left" in budget
    else:
        assert spent == f"spent  ε {epsilon_text(status.epsilon)} {whole}"
        assert f"as the filter counts, which is not in ε, {share} of the budget is left" in budget
        # One share, and no two numbers of which something could be taken away.
        shown = html.unescape(spending(status.odometer, (1.0, 1e-6)))
        assert re.search(
            rf"<dt>Left</dt><dd>{100 * (1 - status.share) - 0.1:.0f}[.0-9]* % of the budget", shown
        )
        assert "<dt>Spent</dt>" not in shown
