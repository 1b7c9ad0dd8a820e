"""Whoever hands a run over does not decide what of its report is checked, whatever version it names."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from discreet.cli import main
from discreet.report import collect, render
from discreet.verify import Finding, VerificationFailure, seal, verify
from discreet.verify.finding import Basis

PAGE = "<p>epsilon 0.01 PROVEN</p>"


def write(run: Path, report: object, page: str | None = None) -> None:
    """Writes report and page, and seals the run."""
    (run / "report.json").write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    if page is not None:
        (run / "report.html").write_text(page)
    seal(run)


def by(report: dict[str, Any], name: str, version: str) -> dict[str, Any]:
    """Returns the report as another version would say that it wrote it."""
    versions = [[own, version if own == name else number] for own, number in report["versions"]]
    return {**report, "versions": versions}


def reported(run: Path) -> Finding:
    (found,) = [one for one in verify(run) if one.subject.startswith("report")]
    return found


@pytest.fixture
def report(run_directory: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((run_directory / "report.json").read_text())
    return read


@pytest.mark.parametrize("versions", [None, [], [["torch", "2.0"]], 2 * [["discreet", "0.1.0"]], "0.0.9",
                                      [["discreet", "epsilon = 0.01"]], [["discreet"]]])  # fmt: skip
def test_a_report_without_a_version_is_refused(
    run_directory: Path, report: dict[str, Any], versions: object
) -> None:
    write(run_directory, {"hello": 1} if versions is None else {**report, "versions": versions}, PAGE)
    with pytest.raises(VerificationFailure, match=r"report\.json must name each version"):
        list(verify(run_directory))
    if versions == []:
        write(run_directory, {**report, "versions": [*report["versions"], ["proven", "0.01"]]}, PAGE)
        with pytest.raises(VerificationFailure, match="versions of what wrote it, and no others"):
            list(verify(run_directory))


@pytest.mark.parametrize("change", [{"budget": None}, {"guarantees": []}, {"plan_digest": "0" * 64},
                                    {"ledger_head": "0" * 64}, {"spent": 0.01}, {"version": 2},
                                    {"signer": "0" * 64}, {"seeded": False}])  # fmt: skip
def test_what_plan_and_ledger_give_is_compared_under_any_version(
    run_directory: Path, report: dict[str, Any], change: dict[str, Any]
) -> None:
    write(run_directory, by({**report, **change}, "discreet", "0.0.9"))
    with pytest.raises(VerificationFailure, match=rf"report\.json: '{next(iter(change))}"):
        list(verify(run_directory))


def test_what_another_version_wrote_alike_is_recomputed_and_all_else_an_exception(
    run_directory: Path, report: dict[str, Any]
) -> None:
    for name in ("discreet", "torch"):
        other = by(report, name, "0.0.9")
        versions = tuple((own, number) for own, number in other["versions"])
        write(run_directory, other, render(dataclasses.replace(collect(run_directory), versions=versions)))
        assert not reported(run_directory).exception
        write(run_directory, other, PAGE)
        found = reported(run_directory)
        assert found.basis is Basis.RECOMPUTED
        assert found.exception.startswith(f"report.html (written with {name} 0.0.9, here ")
    write(run_directory, by({**report, "facts": ["epsilon 0.01"]}, "discreet", "0.0.9"), PAGE)
    found = reported(run_directory)
    assert (found.basis, found.exception.split(" (")[0]) == (Basis.SEALED, "report.json, report.html")
    write(run_directory, {**report, "facts": []})
    with pytest.raises(VerificationFailure, match=r"report\.json: 'facts"):
        list(verify(run_directory))


def test_the_command_says_what_it_could_not_check_and_does_not_succeed(
    run_directory: Path,
    report: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(run_directory, by(report, "discreet", "0.0.9"), PAGE)

    def command(*options: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["discreet", "verify", str(run_directory), *options])
        with pytest.raises(SystemExit) as ended:
            main()
        return (int(ended.value.code or 0), *capsys.readouterr())

    code, shown, warned = command()
    assert (code, warned.count("\n")) == (1, 1)
    assert "--other-version" in warned
    assert shown.startswith("verified, except report.html (written with discreet 0.0.9, here ")
    code, shown, _ = command("--other-version", "--json")
    assert code == 0
    assert json.loads(shown)["except"].startswith("report.html (written with discreet 0.0.9")
