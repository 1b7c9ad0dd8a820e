"""The example of silos with settings of their own: each silo's row stands wherever guarantees do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from discreet.cli.listing import Listing
from discreet.cli.promises import promises
from discreet.config import load_config
from discreet.engines.local import RunResult, prepare, run
from discreet.plan.guaranteed import against
from discreet.released import load_model
from discreet.session import composed, finish, open_run

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_settings.toml"
LIKE_ALL, RARE, SHORT = ("cleveland", "hungary"), "long_beach_va", "switzerland"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    path = tmp_path_factory.mktemp("own") / "run"
    result = run(load_config(EXAMPLE), path)
    finish(result, None)
    return result


def test_each_silo_has_its_row_in_result_report_card_and_model(trained: RunResult) -> None:
    folder = trained.directory.path
    rows = {
        row.get("silo"): row["epsilon"]
        for row in json.loads((folder / "result.json").read_text())["guarantees"]
        if row["adversary"]["type"] == "ServerWithColluders"
    }
    assert set(rows) == {None, *LIKE_ALL, RARE, SHORT}
    assert rows[None] == rows["cleveland"] == rows["hungary"] == pytest.approx(1.0, rel=1e-3)
    assert rows[SHORT] == pytest.approx(0.373, abs=2e-3)
    assert rows[RARE] == pytest.approx(0.484, abs=2e-3)
    page = (folder / "report.html").read_text()
    assert "Silo by silo" in page
    assert "switzerland: learning_rate 0.012" in page
    for silo in (*LIKE_ALL, RARE, SHORT):
        assert f"records of {silo}" in page
    stated = {row.silo: row.epsilon for row in load_model(trained.directory.model).guarantees if row.silo}
    assert stated == {silo: epsilon for silo, epsilon in rows.items() if silo}


def test_the_run_verifies(trained: RunResult) -> None:
    opened = open_run(trained.directory.path)
    assert any("12 guarantees" in finding.detail for finding in opened.verify())
    assert opened.plan.own[0] == opened.plan.release


def test_two_runs_together_are_put_together_for_each_silo(trained: RunResult) -> None:
    one = open_run(trained.directory.path)
    both = composed([one, one], delta=2e-5)
    assert both.epsilon < 2.0
    alone = against(one.plan, *one.plan.budget_adversary(), rounds=16)
    assert both.epsilon < alone.epsilon


def test_silos_that_are_alike_share_a_line() -> None:
    made = prepare(load_config(EXAMPLE)).plan
    table = next(one for one in promises(made, made.guarantees, title="who").renderables)
    assert isinstance(table, Listing)
    own = [row[0] for row in table.rows if "records of" in row[0]]
    assert [row.rpartition("records of ")[2] for row in own] == ["cleveland, hungary", RARE, SHORT]
