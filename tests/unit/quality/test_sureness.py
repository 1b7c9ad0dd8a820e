"""Whether a model is too sure: sums over bins against the records themselves, in both directions."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.quality import Quality, assess


def answered(stated: float, happens: float, classes: int, count: int = 4000) -> Quality:
    """A model that gives some class about ``stated`` and is right in a share ``happens``."""
    draw = np.random.default_rng(classes)
    named = draw.integers(0, classes, count)
    sure = np.clip(draw.normal(stated, 0.02, count), 0.51, 0.99)
    probabilities = np.repeat((1.0 - sure)[:, None] / (classes - 1), classes, axis=1)
    probabilities[np.arange(count), named] = sure
    right = np.arange(count) < happens * count
    return assess(probabilities, np.where(right, named, (named + 1) % classes))


@pytest.mark.parametrize("classes", [2, 5])
def test_it_is_confidence_less_accuracy(classes: int) -> None:
    found = answered(0.9, 0.7, classes).sureness
    assert (found.stated, found.observed) == pytest.approx((0.9, 0.7), abs=5e-3)
    assert found.excess.value == pytest.approx(found.stated - found.observed)
    assert found.error == pytest.approx(0.2, abs=5e-3)
    assert found.words.startswith(f"Too sure by {100 * found.excess.value:.1f} points (1")
    assert "stated with 0.90 on average happens in 0.70" in found.words
    less = answered(0.7, 0.9, classes).sureness
    assert less.error == pytest.approx(0.2, abs=5e-3)
    assert less.words.startswith(f"Not sure enough by {-100 * less.excess.value:.1f} points (1")


@pytest.mark.parametrize("classes", [2, 5])
def test_errors_that_cancel_are_not_called_none(classes: int) -> None:
    """Half of the records are named with 0.7 and right in 0.4, the others with 0.7 and all right."""
    named, sure = np.repeat([1, 0], 500), np.repeat([0.6999, 0.7], 500)
    probabilities = np.repeat((1.0 - sure)[:, None] / (classes - 1), classes, axis=1)
    probabilities[np.arange(1000), named] = sure
    labels = np.where(np.arange(1000) < 200, 1, 0)
    found = assess(probabilities, labels, classes=["no", "yes", "a", "b", "c"][:classes]).sureness
    assert (found.error, found.excess.value) == pytest.approx((0.3, 0.0), abs=1e-3)
    assert found.words.startswith("Too sure of some records and not sure enough of others")
    rare = "; 'yes' is stated with 0.50 on average and is 0.20 of the records" * (classes == 2)
    assert found.words.endswith(f"what is stated with 0.70 on average happens in 0.70{rare}.")


@pytest.mark.parametrize("classes", [2, 5])
def test_a_calibrated_model_has_about_the_error_that_chance_brings_and_is_rarely_blamed(classes: int) -> None:
    draw, errors, by_chance, blamed = np.random.default_rng(1), [], [], 0
    for _ in range(200):
        probabilities = draw.dirichlet(np.ones(classes), 150)
        labels = (probabilities.cumsum(axis=1) < draw.random((150, 1))).sum(axis=1)
        found = assess(probabilities, labels).sureness
        errors.append(found.error)
        by_chance.append(found.by_chance)
        blamed += not found.words.startswith("Neither")
    assert np.mean(errors) == pytest.approx(np.mean(by_chance), rel=0.2)
    # 5 % are expected; more than 22 of 200 have a probability of 3e-4.
    assert blamed <= 22
