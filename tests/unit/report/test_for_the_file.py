"""What a board asks is answered, and what nobody stated is shown as a gap."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from discreet.config import parse_config
from discreet.config.data import DataConfig
from discreet.errors import ConfigurationError
from discreet.plan import load_plan, make_plan
from discreet.quality import assess
from discreet.report import ReportInput, collect
from discreet.report.board import columns, stated
from discreet.report.content import Column
from tests.unit.report.conftest import CONFIG, HOSTILE
from tests.unit.report.test_page import Page, visible


def test_what_is_stated_is_agreed_with_the_plan_and_changes_nothing_else(directory: Path) -> None:
    plain = load_plan(directory / "plan.json")
    told = make_plan(parse_config({**CONFIG, "about": {"purpose": HOSTILE}}), plain.facts)
    without, with_it = (json.loads(plan.document())["plan"]["config"] for plan in (plain, told))
    assert with_it == {**without, "about": {"purpose": HOSTILE}}
    assert told.digest() != plain.digest()
    assert (told.grid, told.release, told.guarantees) == (plain.grid, plain.release, plain.guarantees)
    by_label = {fact.label: fact.value for fact in stated(told)}
    assert by_label["Purpose"] == HOSTILE
    assert {value for label, value in by_label.items() if label != "Purpose"} == {"not stated"}


def test_the_file_has_date_bounds_and_columns(report: ReportInput) -> None:
    filed = dataclasses.replace(
        report,
        finished="2026-11-23",
        columns=(Column(HOSTILE, "number", "20 to 90"), Column("sex", "category", "female, male")),
    )
    text = visible(filed)
    assert "on 2026-11-23" in text
    assert "20 to 90" in text
    assert "1,000" in text
    assert "at most" in text
    assert HOSTILE in text, "as text, not as markup"
    assert "not finished" in visible(report)


def test_the_columns_are_those_of_the_config() -> None:
    data = DataConfig(
        source="csv:a.csv", label="ill", classes=("no", "yes"), ranges={"age": (20, 90)},
        categories={"sex": ("f", "m")},
    )  # fmt: skip
    assert columns(data) == (
        Column("ill", "label", "no, yes"),
        Column("age", "number", "20 to 90"),
        Column("sex", "category", "f, m"),
    )
    assert columns(DataConfig(source="digits")) == ()


def test_the_quality_is_shown_and_a_useless_accuracy_is_warned_of(report: ReportInput) -> None:
    labels = np.repeat([0, 1], [90, 10])
    useless = assess(
        np.tile([0.8, 0.2], (100, 1)), labels, classes=["no", HOSTILE], groups={"silo": ["a"] * 100}
    )
    page = Page(_rendered(dataclasses.replace(report, quality=useless)))
    text = "\n".join(page.text)
    assert "How good is it" in text
    assert "cannot be told from that of always naming the commonest class, 90.0 %" in text
    assert ("div", "aria-label", "Accuracy and base rate") in page.attributes
    assert "0.0 % (0 to 28)" in text, "recall of the rare class"
    assert "Recall" in text.split("By silo")[1]
    assert "Not sure enough by" in text or "Too sure by" in text or "Neither too sure" in text
    assert page.tags.count("svg") > Page(_rendered(report)).tags.count("svg")
    good = assess(np.eye(2)[labels] * 0.8 + 0.1, labels)
    assert "Accuracy and base rate" not in _rendered(dataclasses.replace(report, quality=good))


def _rendered(report: ReportInput) -> str:
    from discreet.report import render

    return render(report)


def test_many_classes_have_no_confusion_matrix(report: ReportInput) -> None:
    many = assess(np.eye(25), np.arange(25), groups={"silo": ["a"] * 25})
    text = visible(dataclasses.replace(report, quality=many))
    assert "Confusion matrix" not in text
    assert "half the squared errors of the probabilities, summed over the classes" in text
    by_silo = text.split("By silo")[1].split("\na\n")[0]
    assert "Balanced accuracy" in by_silo
    assert "Recall" not in by_silo, "a column of dashes"
    assert "Calibration" in text


def test_a_run_is_read_with_its_quality_and_its_day(directory: Path) -> None:
    report = collect(directory)
    assert report.quality is not None
    assert report.final is not None
    assert report.quality.accuracy.value == pytest.approx(report.final.accuracy)
    assert report.quality.against.base_rate == report.final.base_rate
    by_silo = {group.name: group.accuracy.value for group in report.quality.groups if group.by == "silo"}
    assert by_silo == pytest.approx(dict(report.final.by_silo))
    assert {"sex", "cp"} <= {group.by for group in report.quality.groups}
    assert report.finished == "", "the engine alone writes no result"
    (directory / "result.json").write_text(json.dumps({"finished": "2026-11-23"}))
    assert collect(directory).finished == "2026-11-23"


@pytest.mark.parametrize("words", ["[]", "{", '{"finished": "yesterday"}', '{"finished": 3}', "{}"])
def test_a_result_without_a_day_is_refused(directory: Path, words: str) -> None:
    (directory / "result.json").write_text(words)
    with pytest.raises(ConfigurationError, match=r"result\.json must state the day"):
        collect(directory)


@pytest.mark.parametrize("words", ["[]", "{", "{}"])
def test_another_evaluation_is_refused(directory: Path, words: str) -> None:
    (directory / "evaluation.json").write_text(words)
    with pytest.raises(ConfigurationError, match=r"evaluation\.json"):
        collect(directory)
