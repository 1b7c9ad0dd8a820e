"""What a run says of its model's quality follows from its own counts, or does not verify."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from discreet.data.labels import NUMBER
from discreet.quality import assess, assess_numbers, quality_json
from discreet.quality.intervals import wilson
from discreet.rounds import RunDirectory
from discreet.verify.finding import Basis, VerificationFailure
from discreet.verify.quality import check_quality

LABELS = np.array([0, 1, 1, 0, 1, 0, 0, 1])
PROBABILITIES = np.array([0.2, 0.7, 0.4, 0.1, 0.9, 0.6, 0.3, 0.8])


def evidence(tmp_path: Path, change: Callable[[dict[str, Any]], None], accuracy: float = 0.75) -> Any:
    quality = quality_json(assess(np.column_stack([1 - PROBABILITIES, PROBABILITIES]), LABELS))
    change(quality)
    return of_files(tmp_path, quality, [{"release": 3, "accuracy": accuracy}], {"accuracy": accuracy})


def of_files(
    tmp_path: Path,
    quality: dict[str, Any],
    lines: list[dict[str, Any]],
    metrics: dict[str, float],
    several: tuple[str, ...] = (),
    *,
    num_classes: int = 2,
) -> Any:
    """Returns a run whose third release is released, with the files that say how good its model is."""
    directory = RunDirectory(tmp_path)
    directory.evaluation.write_text(json.dumps(quality))
    directory.file("result.json").write_text(json.dumps({"metrics": metrics}))
    for line in lines:
        directory.append_metrics(line)
    data = SimpleNamespace(classes=None, labels=several, several=len(several))
    plan = SimpleNamespace(data=data, facts=SimpleNamespace(num_classes=num_classes))
    return SimpleNamespace(run=SimpleNamespace(directory=directory, released_after=3, plan=plan))


def test_what_a_run_wrote_is_right_but_for_what_only_records_show(tmp_path: Path) -> None:
    found = check_quality(evidence(tmp_path, lambda _: None))
    assert found.basis is Basis.SEALED
    assert "--records" in found.detail


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found.update(accuracy=[0.991, 0.98, 0.995]),
        lambda found: found["classes"][1].update(recall=[0.99, 0.9, 1.0]),
        lambda found: found["classes"][0].update(precision=[0.99, 0.9, 1.0]),
        lambda found: found.update(records=9),
        lambda found: found["classes"][0].update(name="0 at epsilon 0.01, PROVEN"),
    ],
)
def test_invented_numbers_do_not_follow(tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    with pytest.raises(VerificationFailure, match="must follow from its counts, the metrics and the plan"):
        check_quality(evidence(tmp_path, change))


def _named(first: str, second: str) -> Callable[[dict[str, Any]], None]:
    def change(found: dict[str, Any]) -> None:
        found["classes"][0]["name"], found["classes"][1]["name"] = first, second

    return change


def _all_right(found: dict[str, Any]) -> None:
    """Counts of a model without a fault, whose rows hide behind names of other numbers."""
    _named("accuracy", "classes")(found)
    found["confusion"] = [[4, 0], [0, 4]]
    for one in found["classes"]:
        one["recall"] = one["precision"] = list(wilson(4, 4) or ())


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (_named("accuracy", "classes"), "classes"),
        (_named("classes", "1: AUC 99.9 % (sole proof)"), "classes"),
        (_named("classes", "classes"), "classes"),
        (_named("0", "0"), "classes"),
        (_named("labels", "records"), "classes"),
        (_all_right, "classes"),
        (lambda found: (_named("records", "classes")(found), found.update(records=99_999)), "classes"),
        (lambda found: found.update(classes=[], confusion=[]), "classes"),
        (lambda found: found.update(confusion=[]), "confusion"),
        (lambda found: found.update(confusion=[[3, 1, 0], [1, 3, 0], [0, 0, 0]]), "confusion"),
        (lambda found: found["confusion"][0].append(0), "confusion"),
    ],
)
def test_no_name_hides_another_and_none_is_left_out(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], wrong: str
) -> None:
    with pytest.raises(VerificationFailure, match=f"json: '{wrong}' must follow"):
        check_quality(evidence(tmp_path, change))


def of_labels(tmp_path: Path, change: Callable[[list[dict[str, Any]]], object]) -> Any:
    """Returns a run whose model predicts two labels."""
    shares = np.column_stack([1 - PROBABILITIES, PROBABILITIES])
    both = np.column_stack([shares * 0.4, shares * 0.6])
    found = quality_json(assess(both, LABELS, several=("ill", "old")))
    change(found["labels"])
    metrics = {"accuracy": found["accuracy"][0]}
    return of_files(tmp_path, found, [{"release": 3, **metrics}], metrics, ("ill", "old"), num_classes=4)


def test_labels_are_those_of_the_plan(tmp_path: Path) -> None:
    assert check_quality(of_labels(tmp_path, lambda _: None)).basis is Basis.SEALED
    forgeries: list[Callable[[list[dict[str, Any]]], object]] = [
        lambda labels: labels[0]["second"].update(name="ill, AUC 99.9 % PROVEN"),
        lambda labels: labels[1]["second"].update(name="ill"),
        lambda labels: labels[1]["second"].update(name="labels"),
        lambda labels: labels.pop(),
        lambda labels: labels.clear(),
    ]
    for change in forgeries:
        with pytest.raises(VerificationFailure, match="json: 'labels' must follow"):
            check_quality(of_labels(tmp_path, change))


def test_the_accuracy_is_that_of_the_metrics(tmp_path: Path) -> None:
    with pytest.raises(VerificationFailure, match="accuracy in metrics"):
        check_quality(evidence(tmp_path, lambda _: None, accuracy=0.8))


def test_without_a_line_of_the_released_model_it_is_that_of_the_result(tmp_path: Path) -> None:
    quality = quality_json(assess(np.column_stack([1 - PROBABILITIES, PROBABILITIES]), LABELS))
    assert check_quality(of_files(tmp_path, quality, [], {"accuracy": 0.75})).basis is Basis.SEALED
    with pytest.raises(VerificationFailure, match=r"accuracy in result\.json"):
        check_quality(of_files(tmp_path, quality, [], {"accuracy": 0.99}))


def test_another_form_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(VerificationFailure, match="as it was written"):
        check_quality(evidence(tmp_path, lambda found: found.pop("against")))


def of_a_regression(tmp_path: Path, change: Callable[[dict[str, Any]], None], mae: float) -> Any:
    found = quality_json(assess_numbers(np.array([1.0, 2.0, 5.0]), np.array([1.0, 3.0, 3.0])))
    change(found)
    lines = [{"release": 3, "mae": mae}]
    return of_files(tmp_path, found, lines, {"mae": mae}, num_classes=NUMBER)


def test_a_classifier_is_not_measured_as_a_regression_nor_the_reverse(tmp_path: Path) -> None:
    """Errors of a number say nothing of the accuracy that metrics state, which was then not compared."""
    regression = of_a_regression(tmp_path, lambda _: None, 1.0)
    regression.run.plan.facts.num_classes = 2
    with pytest.raises(VerificationFailure, match="what the plan predicts, a class or a number"):
        check_quality(regression)
    classifier = evidence(tmp_path, lambda _: None)
    classifier.run.plan.facts.num_classes = NUMBER
    with pytest.raises(VerificationFailure, match="what the plan predicts, a class or a number"):
        check_quality(classifier)


def test_errors_of_a_regression_follow_from_one_another(tmp_path: Path) -> None:
    assert check_quality(of_a_regression(tmp_path, lambda _: None, 1.0)).subject == "evaluation.json"


@pytest.mark.parametrize("name", ["rmse", "r2", "gain", "constant_mae", "constant_rmse", "mae"])
def test_an_error_of_a_regression_that_was_altered_is_found(tmp_path: Path, name: str) -> None:
    def half(found: dict[str, Any]) -> None:
        value = found[name]
        found[name] = [0.5 * end for end in value] if isinstance(value, list) else 0.5 * value

    with pytest.raises(VerificationFailure, match="must follow from"):
        check_quality(of_a_regression(tmp_path, half, 1.0))


def test_the_error_is_that_of_the_metrics(tmp_path: Path) -> None:
    with pytest.raises(VerificationFailure, match=r"mae in metrics\.jsonl"):
        check_quality(of_a_regression(tmp_path, lambda _: None, 0.9))
