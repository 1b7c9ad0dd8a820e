"""Budgets of silos: what owners state, and what follows from plan and ledger."""

from __future__ import annotations

import dataclasses
import json
from datetime import date
from pathlib import Path

import pytest

from discreet.errors import ConfigurationError
from discreet.plan import Plan, load_plan
from discreet.privacy.adversary import AggregationServer, ServerWithColluders
from discreet.report import collect, state_budgets, write_report
from discreet.report.evidence import budgets
from discreet.report.silo_budgets import BUDGETS
from discreet.rounds import RunDirectory
from discreet.silo.policy import SiloLedger, load_policy

POLICY = """silo = "{silo}"
expires = 2099-01-01

[consortium]
public_key = "0000000000000000000000000000000000000000000000000000000000000000"

[data]
source = "plan"

[budget]
max_epsilon = 4.0
max_delta = 1e-4
max_epsilon_per_training = 1.5
max_delta_per_training = 2e-5

[require]
max_colluding = {colluding}
models = ["logistic"]
"""


def policy(folder: Path, silo: str, *, colluding: int = 0) -> Path:
    path = folder / silo / "policy.toml"
    path.parent.mkdir(parents=True)
    path.write_text(POLICY.format(silo=silo, colluding=colluding))
    return path


@pytest.fixture
def plan(directory: Path) -> Plan:
    return load_plan(directory / "plan.json")


def test_without_policies_nothing_is_said(directory: Path) -> None:
    assert collect(directory).silo_budgets == ()


def test_a_training_costs_what_the_owners_assumption_makes_of_it(
    directory: Path, plan: Plan, tmp_path: Path
) -> None:
    policies = [policy(tmp_path, "cleveland"), policy(tmp_path, "hungary", colluding=2)]
    state_budgets(RunDirectory(directory), plan, policies)
    mild, wary = collect(directory).silo_budgets
    by_adversary = {guarantee.adversary: guarantee for guarantee in plan.guarantees}
    # The plan itself assumes one colluding silo, so nobody is charged less than that.
    assert mild.training == by_adversary[ServerWithColluders(1)]
    assert AggregationServer() in by_adversary
    assert wary.training.adversary == ServerWithColluders(2)
    assert wary.training.epsilon > 1.3 * mild.training.epsilon
    assert mild.elsewhere == (0.0, 0.0)
    assert mild.left == (4.0 - mild.training.epsilon, 1e-4 - 1e-5)
    assert mild.limit_of_a_training == (1.5, 2e-5)


def test_a_silos_own_ledger_counts_other_trainings_and_aborts_that_it_does_not_believe(
    directory: Path, plan: Plan, tmp_path: Path
) -> None:
    path = policy(tmp_path, "cleveland", colluding=1)
    state = load_policy(path).state
    (state / "plans").mkdir(parents=True)
    namesake = dataclasses.replace(plan, config=plan.config.model_copy(update={"name": "another"}))
    other = namesake.digest()
    plan.save(state / "plans" / f"{plan.digest()}.json")
    namesake.save(state / "plans" / f"{other}.json")
    ledger = SiloLedger.open(state / "ledger.jsonl")
    for training, contributions in ((other, 1), (plan.digest(), 3)):
        ledger.join(training, seeded=False)
        for _ in range(contributions):
            ledger.contribute(training, "m", date(2026, 3, 1))
            ledger.settle(training, believe_abort=False)
    ledger.close()
    state_budgets(RunDirectory(directory), plan, [path])
    (budget,) = collect(directory).silo_budgets
    # Whoever may end a training may choose its end: the other is charged as a whole, this one as two.
    whole = plan.spent(plan.releases)
    assert budget.elsewhere == (whole.epsilon, whole.delta)
    assert budget.training.epsilon == plan.spent(3).epsilon > whole.epsilon
    assert budget.used == (3.0 * whole.epsilon, 3.0 * whole.delta)


def test_a_folder_of_silos_is_searched(directory: Path, plan: Plan, tmp_path: Path) -> None:
    for silo in ("hungary", "cleveland"):
        policy(tmp_path / "silos", silo)
    state_budgets(RunDirectory(directory), plan, [tmp_path / "silos"])
    assert [budget.silo for budget in collect(directory).silo_budgets] == ["cleveland", "hungary"]
    page = write_report(directory).read_text()
    assert "Budget used against each silo&#x27;s policy" in page


def test_policies_that_do_not_fit_are_refused(directory: Path, plan: Plan, tmp_path: Path) -> None:
    run = RunDirectory(directory)
    stranger = policy(tmp_path, "elsewhere")
    with pytest.raises(ConfigurationError, match="got one of 'elsewhere'"):
        state_budgets(run, plan, [stranger])
    own = policy(tmp_path, "cleveland")
    with pytest.raises(ConfigurationError, match="one policy; got cleveland, cleveland"):
        state_budgets(run, plan, [own, own])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigurationError, match="holds none"):
        state_budgets(run, plan, [tmp_path / "empty"])
    assert not run.file(BUDGETS).exists()


@pytest.mark.parametrize("change", [{"max_epsilon": -1.0}, {"charged": "many"}, {"more": 1}])
def test_an_altered_file_is_refused(
    directory: Path, plan: Plan, tmp_path: Path, change: dict[str, object]
) -> None:
    run = RunDirectory(directory)
    state_budgets(run, plan, [policy(tmp_path, "cleveland")])
    document = json.loads(run.file(BUDGETS).read_text())
    document["silos"][0] |= change
    run.file(BUDGETS).write_text(json.dumps(document))
    with pytest.raises(ConfigurationError, match=r"budgets\.json must be as it was written"):
        collect(directory)


@pytest.mark.parametrize("composition", ["renyi", "gaussian"])
def test_under_a_filter_a_share_is_left_and_no_two_numbers(
    directory: Path, plan: Plan, tmp_path: Path, composition: str
) -> None:
    path = policy(tmp_path, "cleveland")
    path.write_text(path.read_text().replace("[budget]", f'[budget]\ncomposition = "{composition}"'))
    state_budgets(RunDirectory(directory), plan, [path])
    report = collect(directory)
    (own,) = report.silo_budgets
    assert own.left is None
    assert own.share is not None
    assert 0.0 < own.share < own.used[0] / 4.0, "a filter's measure is not of ε"
    assert own.is_kept
    page = str(budgets(report))
    assert f"{100 * (1 - own.share):.1f} % of the filter" in page
    assert "unless the owner" in page
    assert not dataclasses.replace(own, share=1.01).is_kept
