"""A run from a stranger: verification imports nothing that it names, and opens its own files only."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import save

from discreet.cli import main
from discreet.errors import DiscreetError
from discreet.models import read_model_file
from discreet.plan import guarantees_after, parse_plan
from discreet.privacy.ledger import LedgerWriter, Opened, Spending, read_ledger, spending
from discreet.privacy.wire import digest, to_json
from discreet.report import write_report
from discreet.rounds import read_record
from discreet.verify import VerificationFailure, seal, verify
from discreet.verify.evidence import gather
from discreet.verify.manifest import MANIFEST, OPTIONAL, REQUIRED, Manifest, read_manifest
from discreet.verify.remeasured import remeasure
from discreet.verify.signature import SIGNATURE

EVIL = """
from pathlib import Path
Path({marker!r}).touch()
def load(**_):
    raise SystemExit("executed")
def make(shape, classes):
    raise SystemExit("executed")
"""


@pytest.fixture
def marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An importable module that leaves a marker; returns the marker."""
    path = tmp_path / "executed"
    (tmp_path / "evilmod.py").write_text(EVIL.format(marker=str(path)))
    monkeypatch.syspath_prepend(tmp_path)
    yield path
    sys.modules.pop("evilmod", None)


def forge(directory: Path, change: Callable[..., Any]) -> None:
    """Changes the plan, and makes every other file fit it as its writer would."""
    path = directory / "plan.json"
    document = json.loads(path.read_text())
    change(document["plan"])
    document["digest"] = digest(document["plan"])
    entries = [line.entry for line in read_ledger(directory / "ledger.jsonl")]
    result = json.loads((directory / "result.json").read_text())
    with contextlib.suppress(DiscreetError):  # guarantees name the source of the records
        plan = parse_plan(json.dumps(document).encode())
        nothing_yet = Spending(completed=(), lost=(), pending=None, aborted=0)
        document["plan"]["guarantees"] = to_json(guarantees_after(plan, nothing_yet))
        document["digest"] = digest(document["plan"])
        result["guarantees"] = to_json(guarantees_after(plan, spending(entries)))
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    (directory / "ledger.jsonl").unlink()
    with LedgerWriter.open(directory / "ledger.jsonl") as ledger:
        for entry in entries:
            first = isinstance(entry, Opened)
            ledger.append(Opened(document["digest"], entry.randomness) if first else entry)
    with contextlib.suppress(DiscreetError):
        _say_so_in_the_model(directory)
    result["plan"] = document["digest"]
    (directory / "result.json").write_text(json.dumps(result))
    with contextlib.suppress(DiscreetError):  # verification has to find the plan's fault first
        write_report(directory)
    seal(directory)


def _say_so_in_the_model(directory: Path) -> None:
    """Writes the model file again, with the same weights, for the plan and ledger that are there now."""
    path = directory / "model.safetensors"
    tensors = read_model_file(path.read_bytes(), name=path.name).tensors
    path.write_bytes(save(dict(tensors), metadata={"discreet": read_record(directory).origin.text()}))


def data(**values: Any) -> Callable[..., Any]:
    return lambda plan: plan["config"]["data"].update(values)


def test_a_source_that_is_code_is_imported_only_with_own_code(run_directory: Path, marker: Path) -> None:
    forge(run_directory, data(source="evilmod:load"))
    list(verify(run_directory))
    with pytest.raises(VerificationFailure, match=r"'evilmod:load'.*--own-code"):
        list(verify(run_directory, records=run_directory))
    assert not marker.exists()
    with pytest.raises(VerificationFailure, match=r"whatever its records hold; it called sys\.exit\("):
        list(verify(run_directory, records=run_directory, own_code=True))


def test_nor_is_a_model_to_measure_it(run_directory: Path, marker: Path) -> None:
    forge(run_directory, lambda plan: plan["config"]["model"].update(name="evilmod:make"))
    list(verify(run_directory))
    with pytest.raises(VerificationFailure, match=r"'evilmod:make'.*--own-code"):
        list(verify(run_directory, records=run_directory))
    assert not marker.exists()


@pytest.mark.parametrize("name", ["../records.csv", "/etc/passwd", "..", "$HOME", ""])
@pytest.mark.parametrize("own_code", [True, False])
def test_records_lie_in_the_folder_that_is_named(run_directory: Path, name: str, own_code: bool) -> None:
    forge(run_directory, data(source=f"csv:{name}"))
    with pytest.raises(VerificationFailure, match=r"without a folder|must belong to the plan beside it"):
        list(verify(run_directory, records=run_directory, own_code=own_code))


@pytest.mark.parametrize("key", ["source", "transform"])
@pytest.mark.parametrize("name", ["/dev/zero", "../weights.npz", "..", "$HOME"])
def test_a_file_of_a_plan_has_no_folder(run_directory: Path, key: str, name: str) -> None:
    evidence = gather(run_directory)
    scheme = {"source": "npz", "transform": "residual"}[key]
    table = evidence.run.plan.config.data.model_copy(update={key: f"{scheme}:{name}"})
    config = evidence.run.plan.config.model_copy(update={"data": table})
    run = dataclasses.replace(evidence.run, plan=dataclasses.replace(evidence.run.plan, config=config))
    forged = dataclasses.replace(evidence, run=run)
    with pytest.raises(VerificationFailure, match="without a folder"):
        remeasure(forged, run_directory)


@pytest.mark.parametrize("name", ["../secret.txt", "/etc/hostname", "/dev/zero", "notes.txt"])
def test_a_manifest_names_the_files_of_a_run_and_no_others(run_directory: Path, name: str) -> None:
    (run_directory / "notes.txt").write_text("hello")
    (run_directory.parent / "secret.txt").write_text("hello")
    known = read_manifest(run_directory)
    files = {**known.files, name: hashlib.sha256(b"hello").hexdigest()}
    (run_directory / MANIFEST).write_bytes(Manifest(known.ledger_head, files).serialise())
    with pytest.raises(VerificationFailure, match=r"manifest\.json must be as it was written"):
        list(verify(run_directory))


@pytest.mark.parametrize("name", [*REQUIRED, *OPTIONAL, MANIFEST, SIGNATURE])
def test_a_link_or_a_pipe_is_no_file_of_a_run(run_directory: Path, tmp_path: Path, name: str) -> None:
    path, elsewhere = run_directory / name, tmp_path / "elsewhere"
    elsewhere.write_bytes(path.read_bytes() if path.exists() else b"{}")
    path.unlink(missing_ok=True)
    path.symlink_to(elsewhere)
    with pytest.raises(VerificationFailure, match=f"{name} must be a plain file"):
        list(verify(run_directory))
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(VerificationFailure, match=f"{name} must be a plain file"):
        list(verify(run_directory))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("metrics.jsonl", "[]\n"),
        ("metrics.jsonl", '{"release": []}\n'),
        ("metrics.jsonl", "[" * 100_000 + "\n"),
        ("metrics.jsonl", '{"accuracy": 1' + "0" * 400 + ', "loss": 0, "release": 1}\n'),
        ("result.json", "[]"),
        ("result.json", "[" * 100_000),
        ("report.json", '{"versions": 5}'),
        ("report.json", '{"versions": [[]]}'),
        ("comparison.json", "[]"),
        ("budgets.json", "[[]]"),
        ("state.safetensors", "junk"),
        ("model.safetensors", "junk"),
    ],
)
def test_a_file_of_another_form_is_one_failure(run_directory: Path, name: str, text: str) -> None:
    (run_directory / name).write_text(text)
    seal(run_directory)
    with pytest.raises(VerificationFailure) as caught:
        list(verify(run_directory))
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("text", ["[" * 100_000, '{"digest": 1, "plan": {"version": 1, "config": 1e999}}'])
def test_neither_is_a_plan_of_another_form(run_directory: Path, text: str) -> None:
    (run_directory / "plan.json").write_text(text)
    with pytest.raises(VerificationFailure, match="must be a plan"):
        list(verify(run_directory))


def test_facts_of_a_wrong_type_are_one_line_on_the_command_line(
    run_directory: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    forge(run_directory, lambda plan: plan["facts"].update(feature_shape=["x"]))
    monkeypatch.setattr(sys, "argv", ["discreet", "verify", str(run_directory)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    captured = capsys.readouterr().err
    assert "feature_shape" in captured
    assert "Traceback" not in captured
