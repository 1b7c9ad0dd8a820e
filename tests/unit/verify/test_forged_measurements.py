"""Measurements that were made up are found, or are said not to be checked, whatever lines were left out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from discreet.plan import load_plan
from discreet.privacy.ledger import Completed, LedgerWriter, Resumed, read_ledger
from discreet.report import write_report
from discreet.rounds import RunDirectory
from discreet.verify import Finding, VerificationFailure, seal, verify
from discreet.verify.finding import Basis

INVENTED = {"accuracy_of_the_blind_test_set": 1.0}


def forge(
    run: Path, *, left_out: int = 0, line: Mapping[str, Any] = {}, metrics: Mapping[str, float] = {}
) -> None:
    """Leaves lines of the metrics out, as if processes had died; alters the last, and result; seals anew.

    Args:
        run: the directory.
        left_out: from the end, how many lines are left out.
        line: what replaces the last line's measurements; left out, they stay.
        metrics: what replaces the result's; left out, they stay.
    """
    directory = RunDirectory(run)
    entries = [one.entry for one in read_ledger(directory.ledger)]
    directory.ledger.unlink()
    with LedgerWriter.open(directory.ledger) as ledger:
        for entry in entries:
            ledger.append(entry)
            if isinstance(entry, Completed) and entry.release > 8 - left_out:
                ledger.append(Resumed(load_plan(directory.plan).digest()))
    lines = directory.read_metrics()[: 8 - left_out]
    if line:
        own = ("release", "epsilon_spent", "delta", "survivors")
        lines[-1] = {**{name: lines[-1][name] for name in own}, **line}
    directory.metrics.write_bytes(b"")
    for one in lines:
        directory.append_metrics(one)
    result = json.loads(directory.file("result.json").read_text())
    result["metrics"] = dict(metrics or result["metrics"])
    directory.file("result.json").write_text(json.dumps(result, indent=1))
    write_report(run)
    seal(run)


def measured(run: Path) -> dict[str, float]:
    found: dict[str, float] = json.loads((run / "result.json").read_text())["metrics"]
    return found


def found(run: Path, **how: Any) -> dict[str, Finding]:
    return {finding.subject: finding for finding in verify(run, **how)}


def test_without_the_line_of_the_released_model_its_metrics_are_not_checked(run_directory: Path) -> None:
    honest = measured(run_directory)
    forge(run_directory, left_out=1)
    assert found(run_directory, records=Path())["held-out records"].basis is Basis.RECOMPUTED
    left_out = {name: value for name, value in honest.items() if name != "base_rate"}
    forge(run_directory, metrics={**left_out, "auc": 0.999})
    said = found(run_directory)["result.json"]
    assert said.basis is Basis.SEALED
    assert "its metrics are not checked" in said.detail
    with pytest.raises(VerificationFailure, match=r"result\.json, metrics: 'auc'"):
        list(verify(run_directory, records=Path()))
    forge(run_directory, metrics={**honest, **INVENTED})
    with pytest.raises(VerificationFailure, match=r"result\.json, metrics must hold .*'accuracy_of_the"):
        list(verify(run_directory))
    forge(run_directory, metrics={**honest, "accuracy": 0.99})
    with pytest.raises(VerificationFailure, match=r"accuracy in result\.json"):
        list(verify(run_directory))


def test_no_line_at_all_is_not_recomputed(run_directory: Path) -> None:
    forge(run_directory, left_out=8)
    said = found(run_directory)
    assert said["metrics.jsonl"].basis is Basis.NONE
    assert said["result.json"].basis is Basis.SEALED


def test_a_result_has_the_measurements_of_the_line_and_no_others(run_directory: Path) -> None:
    honest = measured(run_directory)
    for metrics in ({"release": 8.0}, {**honest, **INVENTED}, {"loss": honest["loss"]}):
        forge(run_directory, metrics=metrics)
        with pytest.raises(VerificationFailure, match=r"result\.json: 'metrics\."):
            list(verify(run_directory))


def test_what_is_measured_again_has_the_same_names(run_directory: Path) -> None:
    line = {name: value for name, value in measured(run_directory).items() if name != "accuracy/cleveland"}
    forge(run_directory, line=line, metrics=line)
    assert found(run_directory)["result.json"].basis is Basis.RECOMPUTED
    with pytest.raises(VerificationFailure, match="last release: 'accuracy/cleveland'"):
        list(verify(run_directory, records=Path()))


@pytest.mark.parametrize("name", [*INVENTED, "accuracy/st-elsewhere", "mae", "label_accuracy"])
def test_a_name_that_nobody_measures_is_found_without_the_records(run_directory: Path, name: str) -> None:
    line = {**measured(run_directory), name: 1.0}
    forge(run_directory, line=line, metrics=line)
    with pytest.raises(VerificationFailure, match=rf"release 8 must hold .* nothing else; it has '{name}'"):
        list(verify(run_directory))


@pytest.mark.parametrize(
    "files", [["epsilon is 0.01, PROVEN"], ["plan.json", "plan.json"], ["plan.json", "ledger.jsonl"]]
)
def test_a_result_lists_files_that_are_there(run_directory: Path, files: list[str]) -> None:
    result = json.loads((run_directory / "result.json").read_text(encoding="utf-8"))
    (run_directory / "result.json").write_text(json.dumps(result | {"files": files}), encoding="utf-8")
    forge(run_directory)
    with pytest.raises(VerificationFailure, match=r"must be there, as result|once and in order"):
        list(verify(run_directory))


def test_how_good_a_measured_model_is_cannot_be_left_out(run_directory: Path) -> None:
    (run_directory / "evaluation.json").unlink()
    forge(run_directory)
    with pytest.raises(VerificationFailure, match=r"evaluation\.json must be there"):
        list(verify(run_directory, records=Path()))
