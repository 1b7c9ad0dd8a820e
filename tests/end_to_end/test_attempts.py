"""Attempts that come to nothing: every file of the run counts the messages that they showed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from discreet.accounting import epsilon
from discreet.cli import main
from discreet.plan import load_plan
from discreet.privacy.adversary import WithoutSecureAggregation
from discreet.privacy.wire import from_json
from discreet.verify import verify

CONFIG = """
[data]
source = "heart-disease"
record_capacity = 260

[training]
rounds = 2
local = {{ kind = "single-step" }}

[privacy]
epsilon = 2.0
delta = 1e-5
clip_norm = 0.5

[aggregation]
mode = "semi-honest"

[run]
seed = 3
{dropouts}
"""
GONE = 'dropouts = [{ silo = "hungary", round = 1, stage = "mask" }]'


def discreet(*arguments: str) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["discreet", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
    return int(ended.value.code or 0)


def test_a_row_that_a_finished_run_has_exceeded_is_never_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All four silos must survive, one is gone three times; then it is back and the training completes."""
    broken, whole, out = tmp_path / "broken.toml", tmp_path / "whole.toml", tmp_path / "run"
    broken.write_text(CONFIG.format(dropouts=GONE))
    whole.write_text(CONFIG.format(dropouts=""))
    assert discreet("run", str(broken), "--out", str(out), "-q") != 0
    capsys.readouterr()
    assert discreet("run", str(whole), "--out", str(out), "--resume") == 0
    printed = capsys.readouterr().out

    plan = load_plan(out / "plan.json")
    result = json.loads((out / "result.json").read_text())
    assert result["rounds"] == {"planned": 2, "completed": 2, "lost": 0, "aborted": 3}
    seen = epsilon(plan.event(1, 5), delta=1e-5).epsilon
    stated = from_json(result["guarantees"])
    assert from_json(json.loads((out / "report.json").read_text())["guarantees"]) == stated
    own = [row for row in stated if isinstance(row.adversary, WithoutSecureAggregation)]
    planned = [row for row in plan.guarantees if isinstance(row.adversary, WithoutSecureAggregation)]
    assert [row.epsilon for row in own] == [seen] * 4
    assert all(row.epsilon < 0.7 * seen for row in planned)
    assert f"{seen:.9f}"[:4] in printed
    assert f"{planned[0].epsilon:.9f}"[:4] not in printed
    assert list(verify(out))
