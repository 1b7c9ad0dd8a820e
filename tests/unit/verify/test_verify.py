"""Verification finds any changed byte, and forgeries whose digests were all made to fit."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.cli import main
from discreet.errors import EXIT_BAD_REQUEST
from discreet.privacy.ledger import LedgerWriter, Opened, read_ledger
from discreet.privacy.wire import digest
from discreet.report import write_report
from discreet.verify import VerificationFailure, seal, seal_report, verify
from discreet.verify.finding import Basis
from discreet.verify.manifest import MANIFEST, OPTIONAL, REQUIRED
from discreet.verify.signature import SIGNATURE
from tests.support.honest_plans import plan_again

# Of a training; a run that asked questions has answers besides.
FILES = (*REQUIRED, *(name for name in OPTIONAL if name != "answers.csv"), MANIFEST, SIGNATURE)


def test_a_finished_run_is_right_in_every_part(finished: Path) -> None:
    findings = list(verify(finished, records=Path()))
    assert [finding.subject for finding in findings] == [
        "ledger.jsonl", "manifest.json", "signature", "plan.json", "model, state", "metrics.jsonl",
        "result.json", "report.html, report.json", "held-out records",
    ]  # fmt: skip
    assert not any(finding.basis is Basis.SEALED for finding in findings)
    assert [finding.detail for finding in findings if finding.basis is Basis.NONE] == [
        "unsigned: nothing in these files shows who made the run"
    ]


def test_every_file_of_a_run_is_sealed_or_signed(signed: Path) -> None:
    assert {path.name for path in signed.iterdir()} == set(FILES)


def test_a_file_that_no_run_writes_is_named_as_not_compared(signed: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(signed, tmp_path / "run"))
    (copy / "notes\x1b[2J.txt").touch()
    (other,) = [finding for finding in verify(copy) if finding.subject == "other files"]
    assert other.basis is Basis.NONE
    assert other.detail.startswith(r"'notes\x1b[2J.txt': no part of a run")
    assert "NOT COMPARED" in other.detail


def test_what_a_killed_write_left_behind_is_told_from_files_of_others(signed: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(signed, tmp_path / "run"))
    (copy / "report.html.0123456789abcdef.tmp").touch()
    found = {finding.subject: finding for finding in verify(copy)}
    assert "other files" not in found
    left = found["half-written files"]
    assert left.basis is Basis.NONE
    assert left.detail.startswith("report.html.0123456789abcdef.tmp: left behind by a write that was killed")
    assert left.detail.endswith("Remove them")


@pytest.mark.parametrize("name", FILES)
def test_any_changed_byte_is_found(signed: Path, tmp_path: Path, name: str) -> None:
    copy = Path(shutil.copytree(signed, tmp_path / "run"))
    original = (copy / name).read_bytes()

    @settings(max_examples=25, deadline=None, database=None, derandomize=True)
    @given(place=st.integers(0, len(original) - 1), change=st.integers(1, 255))
    def check(place: int, change: int) -> None:
        altered = bytearray(original)
        altered[place] ^= change
        (copy / name).write_bytes(altered)
        with pytest.raises(VerificationFailure):
            list(verify(copy))

    check()
    (copy / name).write_bytes(original)
    list(verify(copy))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("edit", [lambda data: data[:-1], lambda data: data + b"\n", lambda _: b""])
def test_a_file_that_was_cut_or_grew_is_found(
    signed: Path, tmp_path: Path, name: str, edit: Callable[[bytes], bytes]
) -> None:
    copy = Path(shutil.copytree(signed, tmp_path / "run"))
    (copy / name).write_bytes(edit((copy / name).read_bytes()))
    with pytest.raises(VerificationFailure):
        list(verify(copy))


def edit_json(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def smaller_epsilon(guarantees: list[dict[str, Any]]) -> None:
    guarantees[0]["epsilon"] *= 0.999


def test_a_result_that_promises_more_is_found_although_it_was_sealed(run_directory: Path) -> None:
    edit_json(run_directory / "result.json", lambda found: smaller_epsilon(found["guarantees"]))
    seal(run_directory)
    with pytest.raises(VerificationFailure, match=r"result\.json: 'guarantees.0.epsilon'"):
        list(verify(run_directory))


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda report: smaller_epsilon(report["guarantees"]), "guarantees.0.epsilon"),
        (lambda report: report["attack"]["table"][1].update(max_true_positive_rate=0.01), "attack.table.1"),
        (lambda report: report["final"].update(accuracy=0.99), "final.accuracy"),
        (lambda report: report["comparison"]["pooled"].update(accuracy=0.5), "comparison.pooled"),
        (lambda report: report["outcomes"][0].update(epsilon_spent=0.1), "outcomes.0.epsilon_spent"),
        (lambda report: report.update(ledger_head="0" * 64), "ledger_head"),
    ],
)
def test_a_report_that_says_something_else_is_found(
    run_directory: Path, change: Callable[[dict[str, Any]], None], where: str
) -> None:
    edit_json(run_directory / "report.json", change)
    seal_report(run_directory)
    with pytest.raises(VerificationFailure, match=rf"report\.json: '{where}"):
        list(verify(run_directory))


def test_a_page_that_says_something_else_is_found(run_directory: Path) -> None:
    page = run_directory / "report.html"
    page.write_text(page.read_text().replace("1e-5", "1e-6", 1))
    seal_report(run_directory)
    with pytest.raises(VerificationFailure, match=r"report\.html must show"):
        list(verify(run_directory))


def forge_plan(directory: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Rewrites a plan, its digest, the ledger that names it, and the manifest."""
    edit_json(directory / "plan.json", lambda document: change(document["plan"]))
    edit_json(directory / "plan.json", lambda document: document.update(digest=digest(document["plan"])))
    stated = json.loads((directory / "plan.json").read_text())["digest"]
    entries = [line.entry for line in read_ledger(directory / "ledger.jsonl")]
    (directory / "ledger.jsonl").unlink()
    with LedgerWriter.open(directory / "ledger.jsonl") as ledger:
        for entry in entries:
            ledger.append(Opened(stated, entry.randomness) if isinstance(entry, Opened) else entry)
    seal(directory)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda plan: smaller_epsilon(plan["guarantees"]), "guarantees.0.epsilon"),
        (lambda plan: plan["grid"].update(l2_sensitivity=1.0), "grid.l2_sensitivity"),
        (lambda plan: plan["release"].update(dimension=15), "release.dimension"),
        (lambda plan: plan["config"]["training"].update(rounds=4), "composable|grid|release|guarantees"),
        (lambda plan: plan["facts"].update(model_digest="0" * 64), "model_digest"),
    ],
)
def test_a_plan_that_does_not_follow_from_its_config_is_found(
    run_directory: Path, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    forge_plan(run_directory, change)
    with pytest.raises(VerificationFailure, match=message):
        list(verify(run_directory))


@pytest.mark.parametrize("key", ["mu", "failure"])
def test_what_a_plan_says_that_it_costs_is_worked_out_again(run_directory: Path, key: str) -> None:
    def halved(document: dict[str, Any]) -> None:
        document["composable"][key] /= 2.0

    edit_json(run_directory / "plan.json", halved)
    seal(run_directory)
    with pytest.raises(VerificationFailure, match=rf"'composable\.{key}' is .*, and .* here"):
        list(verify(run_directory))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda plan: smaller_epsilon(plan["guarantees"]), "guarantees.0.epsilon"),
        (lambda plan: plan["grid"].update(l2_sensitivity=1.0), "grid.l2_sensitivity"),
        (lambda plan: plan["release"].update(dimension=15), "release.dimension"),
    ],
)
def test_the_numbers_of_an_own_model_are_recomputed_without_its_code(
    run_directory: Path, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    def own(plan: dict[str, Any]) -> None:
        plan["config"]["model"]["name"] = "a_module_that_must_not_be_imported:make"
        plan_again(plan)
        change(plan)

    forge_plan(run_directory, own)
    with pytest.raises(VerificationFailure, match=message):
        list(verify(run_directory))
    with pytest.raises(VerificationFailure, match="Cannot import model factory"):
        list(verify(run_directory, own_code=True))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon_spent": 0.1}, "epsilon_spent"),
        ({"survivors": ["cleveland"]}, "survivors"),
        ({"release": 9}, "release 9 is not"),
    ],
)
def test_metrics_that_disagree_with_the_ledger_are_found(
    run_directory: Path, change: dict[str, Any], message: str
) -> None:
    path = run_directory / "metrics.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[1] |= change
    path.write_text("".join(json.dumps(line, sort_keys=True) + "\n" for line in lines))
    seal(run_directory)
    with pytest.raises(VerificationFailure, match=message):
        list(verify(run_directory))


def test_a_better_accuracy_is_found_where_the_records_are(run_directory: Path) -> None:
    path = run_directory / "metrics.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[-1]["accuracy"] = 0.99
    path.write_text("".join(json.dumps(line, sort_keys=True) + "\n" for line in lines))
    edit_json(run_directory / "result.json", lambda result: result["metrics"].update(accuracy=0.99))
    write_report(run_directory)
    seal(run_directory)
    with pytest.raises(VerificationFailure, match="accuracy in metrics"):
        list(verify(run_directory))
    with pytest.raises(VerificationFailure, match="last release: 'accuracy'"):
        list(verify(run_directory, records=Path()))


def test_a_better_recall_is_found_where_the_records_are(run_directory: Path) -> None:
    def better(found: dict[str, Any]) -> None:
        found["classes"][1]["recall"] = [0.99, 0.98, 1.0]

    edit_json(run_directory / "evaluation.json", better)
    write_report(run_directory)
    seal(run_directory)
    with pytest.raises(VerificationFailure, match="'1' must follow from its counts"):
        list(verify(run_directory))
    with pytest.raises(VerificationFailure, match=r"evaluation\.json: 'classes\.1\.recall"):
        list(verify(run_directory, records=Path()))


def test_another_model_is_found(run_directory: Path) -> None:
    model = run_directory / "model.safetensors"
    data = bytearray(model.read_bytes())
    data[-1] ^= 1
    model.write_bytes(data)
    seal(run_directory)
    with pytest.raises(VerificationFailure, match="weights of state"):
        list(verify(run_directory))


def test_removed_ledger_lines_are_found(run_directory: Path) -> None:
    path = run_directory / "ledger.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-2]))
    with pytest.raises(VerificationFailure, match="removed or added"):
        list(verify(run_directory))


def test_an_unfinished_run_is_not_verified(run_directory: Path) -> None:
    (run_directory / MANIFEST).unlink()
    assert seal_report(run_directory) is None
    with pytest.raises(VerificationFailure, match="has not finished"):
        list(verify(run_directory))


def test_the_command_prints_one_table_and_the_first_fault(
    run_directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def command(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["discreet", "verify", str(run_directory), *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0)

    assert command("--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["findings"]) == 9
    assert command("--manifest", document["manifest"]) == 0
    assert document["manifest"] in capsys.readouterr().out
    assert command("--manifest", "0" * 64) == EXIT_BAD_REQUEST
    assert "was noted" in capsys.readouterr().err
    (run_directory / "report.json").write_text("{}")
    assert command() == EXIT_BAD_REQUEST
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert "report.json must be the file" in captured.err


def test_records_are_found_in_the_folder_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.config import parse_config
    from discreet.engines.local import run
    from discreet.session.finish import finish
    from discreet.verify.evidence import Evidence, gather
    from discreet.verify.remeasured import remeasure

    private = tmp_path / "private"
    private.mkdir()
    rows = [f"{'abc'[n % 3]},{n % 50},{int(n % 50 > 25)}\n" for n in range(120)]
    (private / "table.csv").write_text("silo,x,y\n" + "".join(rows))
    data = {
        "source": f"csv:{private}/table.csv",
        "label": "y",
        "ranges": {"x": [0, 50]},
        "record_capacity": 40,
        "partition": {"kind": "column", "column": "silo"},
    }
    local = {"kind": "stable-steps", "learning_rate": 0.05, "steps": 4}
    config = parse_config(
        {"data": data, "training": {"rounds": 2, "local": local}, "privacy": {"epsilon": 2.0, "delta": 1e-5}}
    )
    finish(run(config, tmp_path / "run"), None)
    evidence: Evidence = gather(tmp_path / "run")
    assert remeasure(evidence, private).basis is Basis.RECOMPUTED
    with pytest.raises(VerificationFailure, match=r"table\.csv"):
        remeasure(evidence, tmp_path)


@pytest.mark.parametrize("place", [0, 1, -1], ids=["first", "middle", "last"])
def test_metrics_with_a_line_left_out_are_found(run_directory: Path, place: int) -> None:
    path = run_directory / "metrics.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    del lines[place]
    path.write_text("".join(lines))
    write_report(run_directory)
    seal(run_directory)
    with pytest.raises(VerificationFailure, match=f"every release .* release {range(1, 9)[place]} has none"):
        list(verify(run_directory))


def test_an_interrupted_run_verifies_once_it_was_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process dies before the second line of the metrics, after an intent, and before the last line."""
    from discreet.plan import load_plan
    from discreet.privacy.ledger import Intent, Resumed
    from discreet.rounds import RunDirectory

    real = RunDirectory.append_metrics

    def dies_before(release: int) -> None:
        def append_metrics(self: RunDirectory, line: dict[str, Any]) -> None:
            if line["release"] == release:
                raise KeyboardInterrupt
            real(self, line)

        monkeypatch.setattr(RunDirectory, "append_metrics", append_metrics)

    def command(*arguments: str) -> int:
        heart = Path(__file__).parents[2] / "support" / "tuned_heart.toml"
        monkeypatch.setattr(
            sys, "argv", ["discreet", "run", str(heart), "--out", str(tmp_path / "run"), *arguments]
        )
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0)

    dies_before(2)
    assert command("-q") == 130
    with pytest.raises(VerificationFailure, match="has not finished"):
        list(verify(tmp_path / "run"))
    with LedgerWriter.open(tmp_path / "run" / "ledger.jsonl") as ledger:
        ledger.append(Resumed(load_plan(tmp_path / "run" / "plan.json").digest()))
        ledger.append(Intent(3, "0" * 64))
    dies_before(8)
    assert command("-q", "--resume") == 130
    assert command("-q", "--resume") == 0
    findings = {finding.subject: finding.detail for finding in verify(tmp_path / "run")}
    assert json.loads((tmp_path / "run" / "result.json").read_text())["rounds"]["lost"] == 1
    assert findings["metrics.jsonl"].startswith("5 releases of 7:")
    assert "metrics are not checked" in findings["result.json"]


@pytest.mark.parametrize(
    ("name", "said"),
    [("plan.json", "plan.json must hold composable, digest, plan and nothing else; it has 'certified'"),
     ("result.json", "and nothing else; it has 'certified'")],
)  # fmt: skip
def test_a_key_that_nobody_reads_is_refused(finished: Path, tmp_path: Path, name: str, said: str) -> None:
    copy = Path(shutil.copytree(finished, tmp_path / "run"))
    stated = json.loads((copy / name).read_text())
    (copy / name).write_text(json.dumps(stated | {"certified": "by us"}, indent=1, ensure_ascii=False) + "\n")
    seal(copy)
    with pytest.raises(VerificationFailure, match=said.replace(".", r"\.")):
        list(verify(copy))
