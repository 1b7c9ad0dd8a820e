"""A run that asked questions is worked out again: sums, answers, their file and their page."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from discreet.config import parse_config
from discreet.engines.local import run
from discreet.errors import LedgerError
from discreet.report.answers_csv import answers_csv
from discreet.session import finish, open_run
from discreet.statistics import Row
from discreet.verify import VerificationFailure, seal, verify


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of questions; tests that change one use `answered`."""
    config = parse_config(
        {
            "data": {"source": "heart-disease", "record_capacity": 400},
            "ask": [
                {"kind": "count"},
                {"kind": "table", "of": ["sex", "cp"]},
                {"kind": "table", "of": ["age"]},
                {"kind": "moments", "of": ["age", "thalach"], "components": 1},
                {"kind": "linear-regression", "outcome": "thalach", "on": ["age", "sex", "cp"]},
                {"kind": "quantiles", "of": "age", "at": [0.5]},
                {"kind": "survival", "time": "age", "event": "exang", "by": "sex", "bins": [40, 50, 60]},
                {
                    "kind": "hazards",
                    "time": "age",
                    "event": "exang",
                    "on": ["sex"],
                    "bins": {"age": [50, 60]},
                },
                {
                    "kind": "logistic-regression",
                    "outcome": "exang",
                    "on": ["sex", "cp"],
                    "reference": {"cp": "2"},
                },
            ],
            "privacy": {"epsilon": 4.0, "delta": 1e-5},
            "run": {"seed": 3},
        }
    )
    folder = tmp_path_factory.mktemp("asked") / "run"
    finish(run(config, folder), None)
    return folder


@pytest.fixture
def answered(asked: Path, tmp_path: Path) -> Path:
    return shutil.copytree(asked, tmp_path / "run")


def test_a_run_of_questions_is_worked_out_again(answered: Path) -> None:
    assert len(list(verify(answered))) >= 7
    opened = open_run(answered)
    assert len(opened.answers) == 9
    assert opened.answers == open_run(answered).answers
    written = (answered / "answers.csv").read_text(encoding="utf-8").splitlines()
    assert len(written) == 1 + sum(len(answer.rows) for answer in opened.answers)
    page = (answered / "report.html").read_text(encoding="utf-8")
    for answer in opened.answers:
        assert answer.title in page
    assert "Training loss" not in page


def test_a_number_that_was_made_nicer_is_found_under_a_new_seal(answered: Path) -> None:
    path = answered / "answers.csv"
    head, first, *rest = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join([head, first.replace(first.split(",")[2], "9999"), *rest]), encoding="utf-8")
    with pytest.raises(VerificationFailure, match=r"answers\.csv"):
        list(verify(answered))
    seal(answered)
    with pytest.raises(VerificationFailure, match=r"answers\.csv must hold what report\.json says"):
        list(verify(answered))


def test_an_answer_in_the_report_that_was_made_nicer_is_found_too(answered: Path) -> None:
    path = answered / "report.json"
    report = json.loads(path.read_text(encoding="utf-8"))
    report["answers"][0]["rows"][0][1] += 100.0
    path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    seal(answered)
    with pytest.raises(VerificationFailure, match=r"report\.json"):
        list(verify(answered))


def test_a_run_of_questions_has_no_model(answered: Path) -> None:
    from discreet.errors import ConfigurationError
    from discreet.released import load_model

    with pytest.raises(ConfigurationError, match="asked questions"):
        open_run(answered).predict([[0.0]])
    with pytest.raises(ConfigurationError):
        load_model(answered).predict([[0.0]])


def test_the_report_is_written_again_as_it_was(answered: Path) -> None:
    before = (answered / "report.html").read_bytes()
    open_run(answered).report()
    assert (answered / "report.html").read_bytes() == before
    assert len(list(verify(answered))) >= 7


def test_another_state_than_the_ledgers_answers_nothing(answered: Path) -> None:
    path = answered / "state.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(LedgerError, match="the state that the ledger names"):
        _ = open_run(answered).answers


def test_words_that_a_spreadsheet_would_run_are_text() -> None:
    found = answers_csv([("=1+1", (Row("@sum", -1.5, -2.0, -1.0),))])
    assert found.splitlines()[1] == "'=1+1,'@sum,-1.5,-2,-1,"


def test_a_page_of_other_versions_is_only_sealed_and_its_answers_are_compared_all_the_same(
    answered: Path,
) -> None:
    path, page, listed = (answered / name for name in ("report.json", "report.html", "answers.csv"))
    report = json.loads(path.read_text(encoding="utf-8"))
    report["versions"] = [[name, "3.99" if name == "Python" else own] for name, own in report["versions"]]
    path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    page.write_text("<script>alert(1)</script>")
    seal(answered)
    (found,) = [one for one in verify(answered) if one.subject.startswith("report")]
    assert found.subject == "report.json"
    assert "report.html only as sealed" in found.detail
    assert found.exception.startswith("report.html (written with Python 3.99, here 3.")
    listed.write_bytes(listed.read_bytes().replace(b"count", b"Count"))
    seal(answered)
    with pytest.raises(VerificationFailure, match=r"answers\.csv must hold"):
        list(verify(answered))


def test_answers_beside_a_training_are_found(tmp_path: Path) -> None:
    config = parse_config(
        {
            "data": {"source": "heart-disease", "record_capacity": 400},
            "training": {"rounds": 1, "local": {"kind": "single-step"}},
            "privacy": {"epsilon": 1.0, "delta": 1e-5, "clip_norm": 1.0},
        }
    )
    finish(run(config, tmp_path / "run"), None)
    (tmp_path / "run" / "answers.csv").write_text("question,what\nAUC,0.99\n")
    seal(tmp_path / "run")
    with pytest.raises(VerificationFailure, match=r"answers\.csv must be of a run that has answers"):
        list(verify(tmp_path / "run"))
