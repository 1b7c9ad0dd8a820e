"""What an owner decides on the page: what would be read, what is left, what was decided, what forbids it."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.config import Config, parse_config
from discreet.config.data import DataConfig
from discreet.data import Records
from discreet.errors import LedgerError
from discreet.health import read_silo_status
from discreet.privacy.ledger import Intent, read_ledger
from discreet.report.board import columns
from discreet.report.owner import owner_view
from discreet.report.owner_columns import columns_read
from discreet.report.owner_page import render_owner_page
from discreet.silo.decisions import APPROVED, Decision, read_decisions
from discreet.silo.policy import load_policy
from discreet.silo.spending import odometer
from discreet.silo.state import SiloState
from tests.engines.conftest import DirectWire, SmallConsortium
from tests.support.pasted import in_bash

NAME = "cleveland"
NOW = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)

Run = Callable[..., DirectWire]


def page_of(consortium: SmallConsortium, now: datetime = NOW) -> str:
    path = consortium.folder.policy(NAME)
    return render_owner_page(owner_view(load_policy(path), path, now))


def words(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page.partition("<body>")[2])).split())


def waits(consortium: SmallConsortium) -> Path:
    """Lets the consortium's plan wait at the silo."""
    consortium.edit_policy(NAME, "[require]\n", '[require]\napproval = "person"\n')
    return SiloState(load_policy(consortium.folder.policy(NAME))).keep_pending(consortium.plan)


def limits(consortium: SmallConsortium, lines: str) -> None:
    text = consortium.folder.policy(NAME).read_text()
    old = next(line for line in text.splitlines() if line.startswith("max_epsilon ="))
    consortium.edit_policy(NAME, old, lines)


def silo(consortium: SmallConsortium, verb: str, plan: Path, *more: str) -> str:
    found = CliRunner().invoke(app, ["silo", verb, str(consortium.folder.policy(NAME)), str(plan), *more])
    assert found.exit_code == 0, found.output
    return found.output


def test_each_column_that_a_plan_names_is_shown_with_what_it_is_read_as() -> None:
    data = DataConfig(
        source="csv:visits/*.csv",
        label="outcome",
        classes=("stayed", "left"),
        ranges={"age": (30.0, 75.0), "lab_*": (0.0, 9.0)},
        categories={"sex": ("f", "m")},
        person={"column": "patient", "capacity": 300, "most_records": 20},
        drop=("ward",),
    )
    page = columns_read(data)
    text = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())
    assert "outcome the label: what is to be predicted stayed, left" in text
    assert "age a number 30 to 75" in text
    assert "sex a category f, m" in text
    assert "patient whose a record is: no feature at most 20 records of one person are used" in text
    assert "ward nothing: the plan drops it not read" in text
    assert "A star in a name stands for any text" in text
    assert all(one.name in text for one in columns(data))


def test_a_plan_that_names_no_column_says_so(consortium: SmallConsortium) -> None:
    waits(consortium)
    assert "The plan names no column. It reads the records as its source gives them, heart-disease" in words(
        page_of(consortium)
    )


def test_a_column_of_others_words_is_text() -> None:
    data = DataConfig(source="csv:a.csv", label="<b>x", ranges={"<i>y": (0.0, 1.0)}, drop=("<u>z",))
    page = columns_read(data)
    assert not any(markup in page for markup in ("<b>", "<i>", "<u>"))


def test_spent_cost_and_left_add_up_where_costs_are_added(
    consortium: SmallConsortium, run_rounds: Run
) -> None:
    limits(consortium, "max_epsilon = 3.0")
    run_rounds(consortium, 1, 2, 3)
    path = consortium.folder.policy(NAME)
    # Another plan: more releases of one and the same plan compose more tightly than a sum.
    config = consortium.plan.config.model_copy(update={"name": "another"})
    SiloState(load_policy(path)).keep_pending(replace(consortium.plan, config=config))
    (one,) = owner_view(load_policy(path), path, NOW).waiting or ()
    assert one.proposed.before.epsilon + one.proposed.alone[0] == pytest.approx(one.proposed.after.epsilon)
    text = words(page_of(consortium))
    assert "Spent so far, by all trainings ε 1.000, δ 1e-5: " in text
    assert "Left after this plan ε " in text


@pytest.mark.parametrize("composition", ["renyi", "gaussian"])
def test_a_filter_has_one_share_and_no_two_purses(consortium: SmallConsortium, composition: str) -> None:
    limits(consortium, f'composition = "{composition}"\nmax_epsilon = 3.0')
    waits(consortium)
    text = words(page_of(consortium))
    assert "Spent so far, by all trainings 0.0 % of the budget" in text
    found = re.search(
        r"Spent after this plan (\d+\.\d) % of the budget Left after this plan (\d+\.\d) %", text
    )
    assert found is not None
    assert float(found[1]) + float(found[2]) == pytest.approx(100.0)
    assert 0.0 < float(found[1]) < 100.0


def test_a_filter_says_on_the_page_what_the_commands_say(
    consortium: SmallConsortium, run_rounds: Run
) -> None:
    limits(consortium, 'composition = "renyi"\nmax_epsilon = 3.0')
    run_rounds(consortium, 1, 2, 3)
    path = consortium.folder.policy(NAME)
    said = load_policy(path).budget.lifetime.composed_text
    assert "filter of Rényi divergences" in said
    assert "not to be divided by the number of releases" in said
    text = words(page_of(consortium))
    assert said[1:] in text
    assert said in read_silo_status(path).lines()
    assert said in " ".join(CliRunner().invoke(app, ["silo", "budget", str(path)]).output.split())
    assert "ε by then" not in text
    assert "Filter : one way" in text or "Filter: one way" in text


def test_where_costs_are_added_the_page_has_epsilon_day_by_day(
    consortium: SmallConsortium, run_rounds: Run
) -> None:
    run_rounds(consortium, 1)
    assert "ε by then" in words(page_of(consortium))
    policy = consortium.folder.policy(NAME)
    assert not any("filter" in line for line in read_silo_status(policy).lines())
    assert read_silo_status(policy.parent) == read_silo_status(policy)


def test_an_adversary_stands_once_with_the_weaker_promise(consortium: SmallConsortium) -> None:
    """An owner who assumes no colluders is charged against the server alone, which the plan has a row for."""
    waits(consortium)
    path = consortium.folder.policy(NAME)
    policy = load_policy(path)
    view = owner_view(policy, path, NOW)
    (one,) = view.waiting or ()
    server = next(
        row for row in one.proposed.plan.guarantees if "aggregation server" in row.adversary.describe()
    )
    more = replace(server, epsilon=server.epsilon + 0.25)
    page = render_owner_page(replace(view, waiting=(replace(one, cost=more),)))
    assert page.count('<th scope="row">the aggregation server</th>') == 1
    rows = page[page.index('<th scope="row">the aggregation server</th>') :]
    assert f"{more.epsilon:.2f}"[:4] in rows[:120]


def test_every_year_is_shown_with_its_limit(consortium: SmallConsortium, run_rounds: Run) -> None:
    limits(consortium, "max_epsilon = 9.0\nmax_epsilon_per_year = 2.0\nmax_delta_per_year = 1e-4")
    run_rounds(consortium, 1)
    policy = load_policy(consortium.folder.policy(NAME))
    now = datetime.now(UTC)
    found = words(page_of(consortium, now))
    assert f"Year by year Year Spent At most Left {now.year} ε " in found
    assert "ε 2.000, δ 0.0001" in found
    entries = tuple(line.entry for line in read_ledger(policy.state / "ledger.jsonl"))
    earlier = tuple(
        replace(entry, day="2024-05-01") if isinstance(entry, Intent) else entry for entry in entries
    )
    years = odometer(policy, earlier, date(2026, 1, 1)).years
    assert [year for year, _ in years] == [2024, 2026]
    assert years[0][1].epsilon > 0.0
    assert years[1][1].share == 0.0


def test_a_decision_leaves_its_time_plan_name_and_reason(consortium: SmallConsortium) -> None:
    plan = waits(consortium)
    assert "Nobody decided on a plan yet" in words(page_of(consortium))
    document = plan.read_bytes()
    said = silo(consortium, "refuse", plan, "--reason", "not <b>for</b> insurance")
    assert "is refused if it is proposed again" in said
    plan.write_bytes(document)
    assert "takes part when it is proposed again" in silo(consortium, "approve", plan)
    log = load_policy(consortium.folder.policy(NAME)).state / "decisions.jsonl"
    assert log.stat().st_mode & 0o777 == 0o600
    first, second = read_decisions(log)
    assert (first.verdict, first.reason, first.name) == ("refused", "not <b>for</b> insurance", "small")
    assert (second.verdict, second.plan) == (APPROVED, consortium.plan.digest())
    page = page_of(consortium)
    assert "refused by a person here not <b>for</b> insurance" in words(page)
    assert "<b>for" not in page
    assert second.time in page


def test_what_was_carried_out_stands_above_the_decision_of_its_day(
    consortium: SmallConsortium, run_rounds: Run
) -> None:
    silo(consortium, "approve", waits(consortium))
    run_rounds(consortium, 1)
    text = words(page_of(consortium))
    assert 0 < text.index("carried out: 1 of 3 releases so far") < text.index("approved by a person here")


def test_a_decision_without_a_line_is_shown_and_a_torn_line_is_dropped(consortium: SmallConsortium) -> None:
    plan = waits(consortium)
    state = SiloState(load_policy(consortium.folder.policy(NAME)))
    state.approve(consortium.plan.digest())
    assert "not written down" in words(page_of(consortium))
    state.decisions.write_bytes(b'{"time": "20')
    silo(consortium, "approve", plan)
    (one,) = read_decisions(state.decisions)
    assert isinstance(one, Decision)
    state.decisions.write_bytes(b"no\n")
    with pytest.raises(LedgerError, match=r"line 1 of decisions\.jsonl"):
        read_decisions(state.decisions)
    assert "line 1 of decisions.jsonl must be as this silo wrote it" in words(page_of(consortium))


def test_check_says_all_that_forbids_a_plan(consortium: SmallConsortium) -> None:
    plan = waits(consortium)
    limits(consortium, "max_epsilon = 0.01")
    consortium.edit_policy(NAME, 'unit = "record"', 'unit = "client"')
    path = str(consortium.folder.policy(NAME))
    found = CliRunner().invoke(app, ["check", path, str(plan)])
    assert found.exit_code == 3
    for reason in (
        "privacy.unit must be client",
        "'budget.max_epsilon' = 0.01",
        "must be approved by a person",
    ):
        assert reason in found.output, reason
    listed = json.loads(CliRunner().invoke(app, ["check", path, str(plan), "--json"]).output)["refused"]
    assert [one["code"] for one in listed] == ["not-allowed", "budget", "approval"]


def test_check_of_a_plan_that_only_waits_shows_it_and_the_command(consortium: SmallConsortium) -> None:
    plan = waits(consortium)
    found = CliRunner().invoke(app, ["check", str(consortium.folder.policy(NAME)), str(plan)])
    assert found.exit_code == 3
    assert "of 16 features" in found.output
    assert "A person here must approve it" in found.output
    assert "would take part" not in found.output
    silo(consortium, "refuse", plan)
    consortium.plan.save(plan)
    found = CliRunner().invoke(app, ["check", str(consortium.folder.policy(NAME)), str(plan)])
    assert "was refused by a person" in found.output
    assert "1 reason:" in found.output
    assert "waits" not in found.output


def test_check_counts_the_persons_whose_records_they_are(
    consortium: SmallConsortium, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    records = Records(
        np.zeros((5, *consortium.plan.facts.feature_shape), np.float32),
        np.zeros(5, np.int64),
        np.array([7, 7, 8, 8, 9]),
    )
    consortium.plan.save(tmp_path / "plan.json")
    command = ["check", str(consortium.folder.policy(NAME)), str(tmp_path / "plan.json")]
    assert json.loads(CliRunner().invoke(app, [*command, "--json"]).output)["persons"] is None
    monkeypatch.setattr("discreet.silo.check.load_records", lambda *_, **__: records)
    assert json.loads(CliRunner().invoke(app, [*command, "--json"]).output)["persons"] == 3
    assert "5 of 3 persons, of 16 features; the numbers stay here" in CliRunner().invoke(app, command).output


def test_the_commands_work_when_they_are_pasted(
    make_consortium: Callable[..., SmallConsortium], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_consortium()
    path = made.folder.silo(NAME).with_name("my silo's $HOME; files")
    plan = waits(made)
    made.silos[made.node(NAME)].close()
    made.folder.silo(NAME).rename(path)
    policy = path / "policy.toml"
    page = render_owner_page(owner_view(load_policy(policy), policy, NOW))
    lines = [html.unescape(line) for line in re.findall(r"<pre><code>(.*?)</code></pre>", page)]
    written, approve, refuse, check = lines
    codes = [in_bash(line, tmp_path, monkeypatch) for line in (written, check, approve, refuse)]
    assert codes == [0, 3, 0, 0]
    assert (path / "state" / "page.html").exists()
    assert [one.verdict for one in read_decisions(path / "state" / "decisions.jsonl")] == [
        "approved",
        "refused",
    ]
    assert plan.name not in {one.name for one in (path / "state" / "pending").iterdir()}


def test_a_page_without_proposals_says_what_to_expect(consortium: SmallConsortium) -> None:
    assert "the policy lets this silo take part in every plan" in words(page_of(consortium))
    consortium.edit_policy(NAME, "[require]\n", '[require]\napproval = "person"\n')
    text = words(page_of(consortium))
    assert "There is nothing to do. When somebody proposes a training" in text
    assert "before the first plan: whoever coordinates the trainings proposes one" in text


def test_a_ledger_that_fails_is_said_first_and_no_plan_is_said_not_to_wait(
    consortium: SmallConsortium, run_rounds: Run
) -> None:
    run_rounds(consortium, 1)
    waits(consortium)
    ledger = load_policy(consortium.folder.policy(NAME)).state / "ledger.jsonl"
    ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:1]))
    text = words(page_of(consortium))
    assert text.index("Look at this first") < text.index("What waits for you")
    assert "No plan waits" not in text
    assert "Decide nothing before." in text


def test_the_page_says_when_it_was_written_and_how_to_write_it_anew(consortium: SmallConsortium) -> None:
    text = words(page_of(consortium))
    assert "Written 2026-11-23 12:00:00 (UTC)" in text
    assert "discreet silo page " in text


@pytest.mark.parametrize("word", ["ε", "δ", "Silo", "Server", "Round, release", "Budget", "PROVEN"])
def test_the_words_are_explained_before_they_are_used(consortium: SmallConsortium, word: str) -> None:
    waits(consortium)
    page = page_of(consortium)
    legend = page.index("What the words on this page mean")
    assert legend < page.index(f"<strong>{word}") < page.index("What waits for you")
    if word in {"ε", "δ"}:
        assert word not in page[page.index("<body>") : legend]


def asked_config() -> Config:
    data: dict[str, Any] = {"source": "heart-disease", "record_capacity": 400}
    return parse_config(
        {
            "name": "questions",
            "data": data,
            "ask": [{"kind": "table", "of": ["sex", "cp"]}],
            "privacy": {"epsilon": 1.0, "delta": 1e-5},
        }
    )


def test_questions_are_named_as_such(make_consortium: Callable[..., SmallConsortium]) -> None:
    made = make_consortium(asked_config())
    waits(made)
    text = words(page_of(made))
    assert "Asks 1 questions" not in text
    assert "Asks 1 question, answered by" in text
    assert "question 1: How many are there by sex and cp?" in text
