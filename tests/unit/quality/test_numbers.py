"""Errors of a regression, beside the best constant, with intervals that hold what they should."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import ConfigurationError, DataError
from discreet.quality import NumberQuality, assess_numbers, quality_from_json, quality_json
from discreet.quality.owners import Owners

DRAW = np.random.default_rng(0)
LABELS = DRAW.normal(10.0, 3.0, 400)
CLOSE = LABELS + DRAW.normal(0.0, 1.0, 400)


def test_the_numbers_are_those_of_the_formulas() -> None:
    found = assess_numbers(CLOSE, LABELS)
    off = CLOSE - LABELS
    assert found.mae.value == pytest.approx(np.abs(off).mean())
    assert found.rmse.value == pytest.approx(np.sqrt((off**2).mean()))
    assert found.r2 is not None
    assert found.r2.value == pytest.approx(1 - (off**2).sum() / ((LABELS - LABELS.mean()) ** 2).sum())
    assert found.constant_mae == pytest.approx(np.abs(LABELS - np.median(LABELS)).mean())
    assert found.constant_rmse == pytest.approx(LABELS.std())
    assert found.gain.value == pytest.approx(found.constant_mae - found.mae.value)
    assert not found.warning


def test_the_order_of_records_does_not_matter() -> None:
    turned = DRAW.permutation(400)
    silos = ["north" if label > 10 else "south" for label in LABELS]
    again = assess_numbers(CLOSE[turned], LABELS[turned], groups={"silo": [silos[at] for at in turned]})
    one = assess_numbers(CLOSE, LABELS, groups={"silo": silos})
    np.testing.assert_allclose(one.mae, again.mae, rtol=1e-12)
    np.testing.assert_allclose(one.groups[0].rmse, again.groups[0].rmse, rtol=1e-12)


@pytest.mark.statistical
def test_an_interval_holds_the_true_error_about_as_often_as_it_says() -> None:
    """95 % of 120 intervals: fewer than 104 or none outside with probability below 2e-3."""
    held = 0
    for trial in range(120):
        draw = np.random.default_rng(trial)
        off = draw.normal(0.0, 1.0, 150)
        mae = assess_numbers(off, np.zeros(150)).mae
        held += mae.low <= np.sqrt(2 / np.pi) <= mae.high
    assert 104 <= held <= 119


def test_groups_have_errors_of_their_own() -> None:
    found = assess_numbers(CLOSE, LABELS, groups={"silo": ["a"] * 100 + ["b"] * 299 + [""]})
    assert [(one.name, one.records) for one in found.groups] == [("a", 100), ("b", 299), ("blank", 1)]
    assert found.groups[0].mae.value == pytest.approx(np.abs(CLOSE - LABELS)[:100].mean())
    assert found.groups[0].constant_mae == pytest.approx(np.abs(LABELS - np.median(LABELS))[:100].mean())


def test_a_model_no_better_than_a_constant_is_warned_of() -> None:
    constant = np.full(400, np.median(LABELS))
    assert (
        "cannot be told from that of always naming their median" in assess_numbers(constant, LABELS).warning
    )
    assert "is above that" in assess_numbers(constant + 20.0, LABELS).warning


def test_equal_labels_leave_nothing_to_explain() -> None:
    assert assess_numbers(CLOSE, np.full(400, 3.0)).r2 is None
    lone = assess_numbers(np.array([1.0]), np.array([2.0]))
    assert (lone.mae, lone.r2) == ((1.0, 1.0, 1.0), None)


@pytest.mark.parametrize(
    ("predictions", "labels", "match"),
    [
        (np.zeros(2), np.zeros(3), "as many numbers"),
        (np.zeros((2, 1)), np.zeros((2, 1)), "as many numbers"),
        (np.zeros(0), np.zeros(0), "at least one record"),
        (np.array([np.nan]), np.zeros(1), "finite"),
    ],
)
def test_what_cannot_be_measured_is_refused(predictions: np.ndarray, labels: np.ndarray, match: str) -> None:
    with pytest.raises(DataError, match=match):
        assess_numbers(predictions, labels)


def test_a_group_must_name_every_record() -> None:
    with pytest.raises(DataError, match="one 'silo' for each of 400"):
        assess_numbers(CLOSE, LABELS, groups={"silo": ["a"]})


def test_json_is_read_back_as_it_was_written() -> None:
    found = assess_numbers(CLOSE, LABELS, groups={"silo": ["a"] * 400})
    written = quality_json(found)
    assert "not private" in written["note"]
    assert quality_from_json(written) == found
    assert isinstance(quality_from_json(written), NumberQuality)
    with pytest.raises(ConfigurationError, match="'mae' must be as it was written"):
        quality_from_json(written | {"mae": "much"})


def test_resamples_are_of_persons() -> None:
    """Copies of a person's only record change no interval; the coins are the same."""
    rng = np.random.default_rng(3)
    labels = rng.normal(size=40)
    found = labels + rng.normal(size=40)
    copies = np.repeat(np.arange(40), 4)
    alone, many = (
        assess_numbers(found, labels),
        assess_numbers(found[copies], labels[copies], owners=Owners(copies)),
    )
    assert (many.persons, alone.persons, many.records) == (40, None, 160)
    for field in ("mae", "rmse", "r2", "gain"):
        assert getattr(many, field) == pytest.approx(getattr(alone, field)), field
    assert quality_from_json(quality_json(many)) == many
