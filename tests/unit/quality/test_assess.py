"""The measures are those of scikit-learn; the intervals cover as often as they say."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.calibration import calibration_curve

from discreet.errors import ConfigurationError, DataError
from discreet.quality import Quality, Verdict, assess, quality_from_json, quality_json
from discreet.quality.intervals import area_interval, harmonic, mean_of, wilson
from discreet.quality.owners import Owners


def answers(seed: int, n: int, k: int) -> tuple[Any, Any]:
    """Probabilities with many ties, and labels of which every class occurs."""
    random = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(k), random.integers(k, size=n)])
    scores = 1.0 + random.integers(8, size=(n + k, k)) + 3.0 * np.eye(k)[labels]
    return scores / scores.sum(axis=1, keepdims=True), labels.astype(np.int64)


@given(st.integers(0, 2**32 - 1), st.integers(0, 60), st.integers(2, 5))
def test_measures_are_scikit_learns(seed: int, n: int, k: int) -> None:
    probabilities, labels = answers(seed, n, k)
    found, named = assess(probabilities, labels), probabilities.argmax(axis=1)
    assert found.accuracy.value == pytest.approx(metrics.accuracy_score(labels, named))
    assert found.balanced_accuracy.value == pytest.approx(metrics.balanced_accuracy_score(labels, named))
    assert found.confusion == tuple(map(tuple, metrics.confusion_matrix(labels, named).tolist()))
    wanted = np.eye(k)[labels]
    assert found.brier.value == pytest.approx(np.square(probabilities - wanted).sum(axis=1).mean() / 2)
    table = metrics.precision_recall_fscore_support(labels, named, labels=range(k), zero_division=np.nan)
    for number, row in enumerate(found.classes):
        assert row.records == table[3][number]
        for interval, theirs in zip((row.precision, row.recall, row.f1), table[:3], strict=True):
            assert (interval is None and np.isnan(theirs[number])) or interval.value == pytest.approx(
                theirs[number]
            )
        one, score = labels == number, probabilities[:, number]
        assert row.auc is not None
        assert row.auc.value == pytest.approx(metrics.roc_auc_score(one, score))
        assert row.average_precision is not None
        assert row.average_precision.value == pytest.approx(metrics.average_precision_score(one, score))


@example(4523, 14)
@given(st.integers(0, 2**32 - 1), st.integers(0, 80))
def test_curves_and_bins_are_scikit_learns(seed: int, n: int) -> None:
    probabilities, labels = answers(seed, n, 2)
    found = assess(probabilities, labels)
    assert found.brier.value == pytest.approx(metrics.brier_score_loss(labels, probabilities[:, 1]))
    observed, stated = calibration_curve(labels, probabilities[:, 1], n_bins=10, strategy="quantile")
    assert [part.stated for part in found.calibration] == pytest.approx(stated.tolist())
    assert [part.observed.value for part in found.calibration] == pytest.approx(observed.tolist())
    x, y, _ = metrics.roc_curve(labels, probabilities[:, 1], drop_intermediate=False)
    assert np.array(found.roc) == pytest.approx(np.stack([x, y], axis=1))
    assert found.precision_recall[-1][0] == 1.0
    assert metrics.auc(*zip(*found.roc, strict=True)) == pytest.approx(found.classes[1].auc.value)


@given(st.integers(0, 2**32 - 1), st.integers(0, 40), st.integers(2, 4))
def test_the_order_of_records_does_not_matter(seed: int, n: int, k: int) -> None:
    probabilities, labels = answers(seed, n, k)
    order = np.random.default_rng(seed + 1).permutation(len(labels))
    groups = np.where(labels == 0, "a", "b")
    first = assess(probabilities, labels, groups={"silo": groups.tolist()})
    second = assess(probabilities[order], labels[order], groups={"silo": groups[order].tolist()})
    assert _numbers(quality_json(first)) == pytest.approx(_numbers(quality_json(second)), abs=1e-12)


def _numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [number for part in value.values() for number in _numbers(part)]
    if isinstance(value, list):
        return [number for part in value for number in _numbers(part)]
    return [value] if isinstance(value, int | float) else []


def test_a_group_is_measured_as_its_records_alone() -> None:
    probabilities, labels = answers(5, 50, 2)
    silo = np.array(["a", "b", ""])[np.arange(52) % 3]
    found = {
        group.name: group for group in assess(probabilities, labels, groups={"silo": silo.tolist()}).groups
    }
    assert list(found) == ["a", "b", "blank"]
    alone = assess(probabilities[silo == "a"], labels[silo == "a"])
    assert (found["a"].records, found["a"].accuracy, found["a"].auc) == (
        alone.records,
        alone.accuracy,
        alone.classes[1].auc,
    )
    assert found["a"].base_rate == alone.against.base_rate


@pytest.mark.parametrize(
    ("right", "of", "named", "verdict"),
    [(90, 100, 50, Verdict.ABOVE), (50, 100, 50, Verdict.NOT_DISTINGUISHABLE), (10, 100, 50, Verdict.BELOW)],
)
def test_the_accuracy_is_judged_beside_the_base_rate(
    right: int, of: int, named: int, verdict: Verdict
) -> None:
    labels = np.repeat([0, 1], [of - named, named])
    answer = np.where(np.random.default_rng(3).permutation(of) < right, labels, 1 - labels)
    found = assess(np.eye(2)[answer] * 0.8 + 0.1, labels)
    assert found.against.verdict is verdict
    assert bool(found.warning) is (verdict is not Verdict.ABOVE)


def test_a_model_that_finds_few_of_the_rare_is_warned_of() -> None:
    # 11 of 134 patients are found among 5,150 records: 97.6 % accuracy.
    labels = np.repeat([0, 1], [5016, 134])
    named = np.concatenate([np.zeros(5016, np.int64), np.repeat([1, 0], [11, 123])])
    named[:2] = 1
    found = assess(np.eye(2)[named] * 0.8 + 0.1, labels)
    assert found.accuracy.value == pytest.approx(0.976, abs=5e-4)
    assert found.classes[1].recall is not None
    assert found.classes[1].recall.value == pytest.approx(11 / 134)
    assert found.against.verdict is Verdict.ABOVE  # by 9 records, and the recall beside it says the rest
    named[:9] = 1
    assert assess(np.eye(2)[named] * 0.8 + 0.1, labels).warning.startswith("The accuracy, 97.4 % of 5150")


def test_one_record_and_one_class_have_answers() -> None:
    found = assess(np.array([[0.3, 0.7]]), np.array([1]))
    assert (found.accuracy.value, found.accuracy.high, found.roc) == (1.0, 1.0, ())
    assert found.classes[0].recall is None
    assert found.classes[1].auc is None
    assert found.brier[1:] == (0.0, 1.0)


@pytest.mark.parametrize(
    ("probabilities", "labels", "message"),
    [
        (np.ones((2, 1)), np.zeros(2, np.int64), "shape"),
        (np.ones((0, 2)), np.zeros(0, np.int64), "at least one record"),
        (np.full((1, 2), np.nan), np.zeros(1, np.int64), "finite"),
        (np.ones((1, 2)) / 2, np.array([2]), r"in \[0, 2\)"),
    ],
)
def test_what_is_no_answer_is_refused(probabilities: Any, labels: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        assess(probabilities, labels)


def test_a_group_needs_a_text_for_each_record() -> None:
    with pytest.raises(DataError, match="one 'silo' for each of 2 records; got 1"):
        assess(np.eye(2), np.array([0, 1]), groups={"silo": ["a"]})


@pytest.mark.statistical
def test_intervals_cover_in_19_of_20_cases() -> None:
    """Each covers at 2,000 draws; false alarm below 1e-9 at the true rate that was measured or above."""
    random, draws = np.random.default_rng(11), 2000
    area, balanced, f1 = 0, 0, 0
    truth = 0.8413447  # P(N(sqrt 2, 1) > N(0, 1) ...): the distance is sqrt(2) standard deviations
    for _ in range(draws):
        up, down = random.normal(np.sqrt(2.0), 1, 25), random.normal(0, 1, 40)
        mann_whitney = float((up[:, None] > down).mean())
        found = area_interval(mann_whitney, 25, 40)
        area += found.low <= truth <= found.high
        hits = random.binomial(20, 0.9), random.binomial(60, 0.4)
        recall = [wilson(hits[0], 20), wilson(hits[1], 60)]
        both = mean_of([one for one in recall if one is not None])
        balanced += both.low <= 0.65 <= both.high
        true, wrong = random.multinomial(80, [0.3, 0.2, 0.5])[:2]
        score = harmonic(int(true), int(wrong))
        f1 += score is not None and score.low <= 0.75 <= score.high
    assert min(area, balanced, f1) / draws > 0.92
    assert max(area, balanced, f1) / draws < 0.99


def test_an_area_of_one_has_an_interval() -> None:
    found = area_interval(1.0, 10, 20)
    assert found.high == 1.0
    assert 0.7 < found.low < 0.95
    assert area_interval(0.0, 10, 20).high == pytest.approx(1 - found.low)


@given(st.integers(0, 2**32 - 1), st.integers(2, 25))
def test_json_there_and_back(seed: int, k: int) -> None:
    probabilities, labels = answers(seed, 20, k)
    found = assess(probabilities, labels, groups={"silo": ["a"] * len(labels)})
    assert (len(found.classes) == k) is (k <= 20)
    assert quality_from_json(json.loads(json.dumps(quality_json(found)))) == found


def _changed(path: str, value: Any) -> dict[str, Any]:
    data = quality_json(assess(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0, 1])))
    *outer, last = path.split(".")
    inside = data
    for key in outer:
        inside = inside[key]
    inside[last] = value
    return data


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("version", 2),
        ("note", "private"),
        ("records", "many"),
        ("accuracy", [0.5]),
        ("against.verdict", "excellent"),
        ("more", 1),
        ("against.more", 1),
        ("roc", [[0.0, 0.0]] * 101),
        ("groups", [{}]),
    ],
)
def test_another_document_is_refused_in_one_line(path: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"evaluation\.json") as error:
        quality_from_json(_changed(path, value))
    assert "\n" not in str(error.value)
    with pytest.raises(ConfigurationError):
        quality_from_json([])


def test_a_measurement_is_a_value() -> None:
    assert isinstance(assess(np.eye(2), np.array([0, 1])), Quality)


def test_copies_of_a_persons_record_narrow_no_interval() -> None:
    """Every interval and the test are those of one record a person, the values those of all."""
    rng = np.random.default_rng(3)
    scores = rng.uniform(size=60)
    once = np.stack([1 - scores, scores], axis=1)
    labels = (rng.uniform(size=60) < scores).astype(np.int64)
    sites = {"site": [str(n % 2) for n in range(60)]}
    alone = assess(once, labels, groups=sites)
    copies = np.repeat(np.arange(60), 5)
    many = assess(
        once[copies],
        labels[copies],
        groups={"site": [sites["site"][n] for n in copies]},
        owners=Owners(copies),
    )
    assert (many.records, many.persons, alone.persons) == (300, 60, None)
    assert many.against.p_value == pytest.approx(alone.against.p_value)
    for field in ("accuracy", "balanced_accuracy", "brier"):
        assert getattr(many, field) == pytest.approx(getattr(alone, field), abs=2e-3), field
    for one, other in zip(many.classes, alone.classes, strict=True):
        for field in ("recall", "precision", "f1", "auc", "average_precision"):
            assert getattr(one, field) == pytest.approx(getattr(other, field), abs=1e-9), field
    for one_group, other_group in zip(many.groups, alone.groups, strict=True):
        assert one_group.accuracy == pytest.approx(other_group.accuracy)
        assert one_group.auc == pytest.approx(other_group.auc)
    for one_bin, other_bin in zip(many.calibration, alone.calibration, strict=True):
        assert one_bin.observed == pytest.approx(other_bin.observed)
    assert quality_from_json(quality_json(many)) == many


def test_records_of_persons_have_wider_intervals_than_as_many_independent_ones() -> None:
    labels = np.tile([0, 1], 50)
    found = np.stack([1.0 - 0.8 * labels, 0.8 * labels], axis=1)
    wide = assess(found, labels, owners=Owners(np.arange(100) // 10)).accuracy
    narrow = assess(found, labels).accuracy
    assert wide.low < narrow.low
