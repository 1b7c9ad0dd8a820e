"""A silo whose budget composes by a filter: its limits stand from the first contribution."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.config import Config
from discreet.errors import ConfigurationError, LedgerError
from discreet.health import read_silo_status
from discreet.privacy.ledger import Intent, read_ledger
from discreet.privacy.wire import digest
from discreet.silo.policy import PolicyRefusal, SiloLedger, load_policy
from discreet.silo.requests import Refused
from discreet.silo.state import SiloState
from tests.engines.conftest import DirectWire, SmallConsortium

NAME = "cleveland"
Run = Callable[..., DirectWire]


@pytest.fixture
def filtered(consortium: SmallConsortium) -> SmallConsortium:
    text = consortium.folder.policy(NAME).read_text()
    old = next(line for line in text.splitlines() if line.startswith("max_epsilon ="))
    consortium.edit_policy(NAME, old, 'composition = "renyi"\nmax_epsilon = 3.0')
    return consortium


def budget(consortium: SmallConsortium, *more: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, ["silo", "budget", str(consortium.folder.policy(NAME)), *more])
    return found.exit_code, found.output


def test_the_first_contribution_fixes_the_limits_and_writes_its_day(
    filtered: SmallConsortium, run_rounds: Run
) -> None:
    before = filtered.folder.silo(NAME) / "state" / "limits.json"
    assert not before.exists()
    run_rounds(filtered, 1)
    assert json.loads(before.read_text())["lifetime"]["epsilon"] == 3.0
    ledger = read_ledger(filtered.folder.silo(NAME) / "state" / "ledger.jsonl")
    days = {line.entry.day for line in ledger if isinstance(line.entry, Intent)}
    assert days == {datetime.now(UTC).date().isoformat()}


def test_limits_that_are_raised_later_end_the_silos_part(filtered: SmallConsortium, run_rounds: Run) -> None:
    run_rounds(filtered, 1)
    filtered.edit_policy(NAME, "max_epsilon = 3.0", "max_epsilon = 4.0")
    status = read_silo_status(filtered.folder.policy(NAME))
    assert any("ATTENTION" in line and "before the first contribution" in line for line in status.lines())
    code, words = budget(filtered, "--plan", str(filtered.folder.server.path / "plan.json"))
    assert code == 3
    assert "refused: a budget that composes by a filter" in " ".join(words.split())
    filtered.edit_policy(NAME, "max_epsilon = 4.0", "max_epsilon = 3.0")
    assert budget(filtered)[0] == 0


@pytest.mark.parametrize("change", ["edited", "removed"])
def test_a_file_of_limits_that_was_touched_ends_the_silos_part(
    filtered: SmallConsortium, run_rounds: Run, change: str
) -> None:
    run_rounds(filtered, 1)
    limits = filtered.folder.silo(NAME) / "state" / "limits.json"
    text = limits.read_text()
    if change == "edited":
        limits.write_text(text.replace("3.0", "4.0"))
        filtered.edit_policy(NAME, "max_epsilon = 3.0", "max_epsilon = 4.0")
    else:
        limits.unlink()
    with pytest.raises(LedgerError, match=r"limits\.json must be as it was when the last contribution left"):
        SiloState(load_policy(filtered.folder.policy(NAME))).fixed()
    assert budget(filtered)[0] != 0
    limits.write_text(text)
    if change == "edited":
        filtered.edit_policy(NAME, "max_epsilon = 4.0", "max_epsilon = 3.0")
    assert budget(filtered)[0] == 0


def test_what_a_budget_rests_on_is_on_disk_before_the_ledger_charges(
    filtered: SmallConsortium, run_rounds: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits, there = filtered.folder.silo(NAME) / "state" / "limits.json", []
    contribute = SiloLedger.contribute

    def watched(ledger: SiloLedger, *arguments: Any, **named: Any) -> int:
        there.append(limits.exists())
        return contribute(ledger, *arguments, **named)

    monkeypatch.setattr(SiloLedger, "contribute", watched)
    run_rounds(filtered, 1)
    assert there
    assert all(there)


def test_a_sampled_history_under_a_new_gaussian_filter_is_told_and_still_shown(
    make_consortium: Callable[..., SmallConsortium], small_config: Callable[..., Config], run_rounds: Run
) -> None:
    training = small_config().training.model_dump(exclude_none=True)
    sampled = make_consortium(
        small_config(training={**training, "sampling": {"kind": "poisson", "probability": 0.3}})
    )
    run_rounds(sampled, 1)
    path = sampled.folder.policy(NAME)
    added = read_silo_status(path)
    sampled.edit_policy(NAME, "[budget]", '[budget]\ncomposition = "gaussian"')
    status = read_silo_status(path)
    assert any("ATTENTION" in line and "before the first contribution" in line for line in status.lines())
    assert (status.epsilon, status.share) == (added.epsilon, added.share)
    code, words = budget(sampled)
    assert code == 0
    assert "ATTENTION: a budget that composes by a filter" in " ".join(words.split())
    code, words = budget(sampled, "--plan", str(sampled.folder.server.path / "plan.json"))
    assert code == 3
    assert "refused: a budget that composes by a filter" in " ".join(words.split())


def test_the_status_is_that_of_the_policy_in_a_folder(filtered: SmallConsortium) -> None:
    path = filtered.folder.policy(NAME)
    one, two = (CliRunner().invoke(app, ["silo", "status", str(named)]) for named in (path, path.parent))
    assert one.exit_code == two.exit_code == 0
    assert one.output == two.output


@pytest.mark.parametrize("verb", ["budget", "page", "anchor"])
def test_a_folder_is_no_policy_and_the_one_in_it_is_named(filtered: SmallConsortium, verb: str) -> None:
    path = filtered.folder.policy(NAME)
    found = CliRunner().invoke(app, ["silo", verb, str(path.parent)])
    assert isinstance(found.exception, ConfigurationError)
    said = str(found.exception)
    assert "\n" not in said
    assert f"got the folder {path.parent}. Name the file: {path}." in said
    elsewhere = str(path.parent / "state")
    found = CliRunner().invoke(app, ["silo", verb, elsewhere])
    assert f"got the folder {elsewhere}. Name a policy.toml." in str(found.exception)


def test_a_real_silo_keeps_to_its_year(consortium: SmallConsortium, run_rounds: Run) -> None:
    plan = consortium.plan
    year = 1.02 * plan.spent(plan.rounds).epsilon
    text = consortium.folder.policy(NAME).read_text()
    old = next(line for line in text.splitlines() if line.startswith("max_epsilon ="))
    yearly = f"max_epsilon_per_year = {year}\nmax_delta_per_year = 1e-3"
    consortium.edit_policy(NAME, old, f"max_epsilon = 9.0\n{yearly}")
    rounds = range(1, plan.rounds + 1)
    node = consortium.node(NAME)

    def refusals(wire: DirectWire) -> list[str]:
        return [one.reason for one in wire.answered if isinstance(one, Refused) and "per_year" in one.reason]

    assert not refusals(run_rounds(consortium, *rounds))
    consortium.reopen(NAME)
    assert node == consortium.node(NAME)
    assert refusals(run_rounds(consortium, 1, seed=2))
    consortium.edit_policy(NAME, yearly, "")
    assert not refusals(run_rounds(consortium, 1, seed=3))


def test_a_ledger_that_was_rolled_back_says_nothing(filtered: SmallConsortium, run_rounds: Run) -> None:
    run_rounds(filtered, 1)
    ledger = filtered.folder.silo(NAME) / "state" / "ledger.jsonl"
    whole = ledger.read_bytes()
    ledger.write_bytes(b"".join(whole.splitlines(keepends=True)[:1]))
    assert budget(filtered)[0] != 0
    ledger.unlink()
    assert budget(filtered)[0] != 0
    ledger.write_bytes(whole)
    assert budget(filtered)[0] == 0


def altered(consortium: SmallConsortium, folder: Path, edit: Callable[[Any], object]) -> str:
    """Writes the plan, changed, with the digest that fits, and says nothing of its cost."""
    document = json.loads((consortium.folder.server.path / "plan.json").read_bytes())
    del document["composable"]
    edit(document["plan"])
    document["digest"] = digest(document["plan"])
    path = folder / "altered.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("sensitivity", [1e-3, 1e300])
def test_the_cost_of_a_plan_is_never_what_the_plan_says(
    filtered: SmallConsortium, tmp_path: Path, sensitivity: float
) -> None:
    forged = altered(filtered, tmp_path, lambda plan: plan["release"].update(l2_sensitivity=sensitivity))
    found = CliRunner().invoke(app, ["silo", "budget", str(filtered.folder.policy(NAME)), "--plan", forged])
    assert isinstance(found.exception, ConfigurationError)
    assert "must follow from its own config and facts" in str(found.exception)
    assert "allows it" not in found.output


def test_a_plan_that_states_another_cost_is_not_weighed(filtered: SmallConsortium, tmp_path: Path) -> None:
    document = json.loads((filtered.folder.server.path / "plan.json").read_bytes())
    document["composable"]["mu"] /= 2.0
    (tmp_path / "plan.json").write_text(json.dumps(document), encoding="utf-8")
    policy, told = str(filtered.folder.policy(NAME)), str(tmp_path / "plan.json")
    asked = [["silo", "budget", policy, "--plan", told], ["check", policy, told]]
    for command in (*asked, ["silo", "approve", policy, told], ["silo", "refuse", policy, told]):
        found = CliRunner().invoke(app, command)
        assert isinstance(found.exception, PolicyRefusal)
        assert "'composable.mu' is " in str(found.exception)


@pytest.mark.parametrize("sensitivity", [1e-3, 1e300])
def test_a_cost_that_fits_no_plan_is_one_line(
    filtered: SmallConsortium, tmp_path: Path, sensitivity: float
) -> None:
    document = json.loads((filtered.folder.server.path / "plan.json").read_bytes())
    document["plan"]["release"]["l2_sensitivity"] = sensitivity
    document["digest"] = digest(document["plan"])
    (tmp_path / "plan.json").write_text(json.dumps(document), encoding="utf-8")
    policy, told = str(filtered.folder.policy(NAME)), str(tmp_path / "plan.json")
    found = CliRunner().invoke(app, ["silo", "budget", policy, "--plan", told])
    assert isinstance(found.exception, PolicyRefusal)
    assert "composable" in str(found.exception) or "cost" in str(found.exception)


@pytest.mark.parametrize("name", ["x[/]", "[conceal]y", ":heavy_check_mark: the budget"])
def test_the_name_of_a_plan_is_text(filtered: SmallConsortium, tmp_path: Path, name: str) -> None:
    document = altered(filtered, tmp_path, lambda plan: plan["config"].update(name=name))
    code, words = budget(filtered, "--plan", document)
    assert code == 0, words
    assert f"{name} (" in words


def test_the_command_and_the_status_show_one_number(filtered: SmallConsortium, run_rounds: Run) -> None:
    assert "nothing was spent" in budget(filtered)[1]
    run_rounds(filtered, 1)
    code, words = budget(filtered, "--json", "--plan", str(filtered.folder.server.path / "plan.json"))
    found = json.loads(words)
    assert code == 0
    status = read_silo_status(filtered.folder.policy(NAME))
    assert found["lifetime"]["epsilon"] == status.epsilon > 0.0
    assert found["lifetime"]["share"] < found["proposed"]["after"]["share"] < 1.0
    (training,) = found["trainings"]
    assert (training["releases"], training["unit"]) == (1, "record")
    (moment,) = found["moments"]
    assert moment["level"] == found["lifetime"]
    text = budget(filtered)[1]
    assert "1 of" in text
    assert "filter of Rényi divergences" in text


def test_help_has_an_example() -> None:
    found = CliRunner().invoke(app, ["silo", "budget", "--help"])
    assert "discreet silo budget hospital/policy.toml --plan plan.json" in " ".join(found.output.split())


def test_bad_input_is_one_line(filtered: SmallConsortium) -> None:
    assert budget(filtered, "--plan", "no.json")[0] != 0
    policy = str(filtered.folder.policy(NAME))
    for command in (["check"], ["silo", "approve"], ["silo", "refuse"]):
        found = CliRunner().invoke(app, [*command, policy, "no.json"])
        assert isinstance(found.exception, ConfigurationError)
        assert str(found.exception) == "the plan must be a readable file; no.json is none."
