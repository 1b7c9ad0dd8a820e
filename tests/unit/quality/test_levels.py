"""How far off levels are: against scikit-learn, and always naming one level."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.quality import assess, quality_from_json, quality_json
from discreet.quality.levels import assess_levels, weighted_kappa


def test_kappa_is_that_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    draw = np.random.default_rng(0)
    for levels in (3, 5):
        labels = draw.integers(0, levels, 200)
        named = np.clip(labels + draw.integers(-1, 2, 200), 0, levels - 1)
        expected = metrics.cohen_kappa_score(labels, named, weights="quadratic")
        assert weighted_kappa(named, labels) == pytest.approx(expected, rel=1e-12)


def test_one_level_for_all_has_no_kappa_and_naming_one_has_none_either() -> None:
    labels = np.array([0, 1, 2, 2])
    assert weighted_kappa(np.full(4, 1), labels) == pytest.approx(0.0)
    assert weighted_kappa(np.full(4, 1), np.full(4, 1)) is None


def test_the_error_stands_beside_that_of_the_median() -> None:
    found = assess_levels(np.array([0, 2, 2, 0]), np.array([0, 1, 2, 2]))
    assert found.error.value == pytest.approx(0.75)
    assert found.constant_error == pytest.approx(0.75)


def test_worse_than_the_median_is_told_with_the_levels_that_are_off() -> None:
    labels = np.array([0, 1, 1, 1, 1, 2])
    named = np.array([0, 2, 2, 1, 1, 0])
    found = assess(np.eye(3)[named], labels, classes=("mild", "middle", "grave"), ordinal=True)
    assert found.levels is not None
    assert found.levels.error.value > found.levels.constant_error
    assert found.warning.endswith(
        "The likeliest level is off by 0.667 on average, and always naming the median level by 0.333; the "
        "model is further off at: middle, grave."
    )
    assert "\n" not in found.warning
    for ordinal, own in ((False, named), (True, labels)):
        assert "level is off" not in assess(np.eye(3)[own], labels, ordinal=ordinal).warning


def test_only_levels_have_it_and_files_keep_it() -> None:
    probabilities, labels = np.eye(3)[[0, 1, 2, 2]], np.array([0, 1, 2, 1])
    plain, ordered = (assess(probabilities, labels, ordinal=ordinal) for ordinal in (False, True))
    assert plain.levels is None
    assert ordered.levels is not None
    assert ordered.levels.kappa == pytest.approx(0.8)
    for quality in (plain, ordered):
        assert quality_from_json(quality_json(quality)) == quality
