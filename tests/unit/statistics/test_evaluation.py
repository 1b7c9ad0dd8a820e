"""Measures of a model from counts of scores by label, against a direct computation on the scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.statistics import classification, evaluation
from discreet.statistics.evaluation import balanced_accuracy, confusion
from discreet.statistics.roc import curve, rates

EDGES = tuple(np.linspace(0, 1, 11).tolist())


def drawn(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    labels = (rng.uniform(size=n) < 0.3).astype(int)
    scores = 1 / (1 + np.exp(-(rng.normal(size=n) + 1.5 * labels - 1)))
    return scores, labels


def counted(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    places = np.clip(np.searchsorted(EDGES, scores, side="right") - 1, 0, len(EDGES) - 2)
    found = np.zeros((len(EDGES) - 1, 2))
    np.add.at(found, (places, labels), 1)
    return found.ravel()


def test_without_noise_it_is_what_the_scores_give() -> None:
    scores, labels = drawn(np.random.default_rng(1), 4000)
    found = evaluation(counted(scores, labels), 0.0, EDGES)
    assert found.units.value == 4000
    said = scores >= 0.5
    assert found.accuracy is not None
    assert found.accuracy.value == pytest.approx((said == labels).mean())
    assert found.sensitivity is not None
    assert found.sensitivity.value == pytest.approx(said[labels == 1].mean())
    assert found.specificity is not None
    assert found.specificity.value == pytest.approx(1 - said[labels == 0].mean())
    assert found.precision is not None
    assert found.precision.value == pytest.approx(labels[said].mean())
    assert found.base_rate is not None
    assert found.base_rate.value == pytest.approx(1 - labels.mean())
    # Units of one bin count one half.
    bins = np.searchsorted(EDGES, scores, side="right")
    above, below = bins[labels == 1][:, None], bins[labels == 0][None, :]
    assert found.auc is not None
    assert found.auc.value == pytest.approx(((above > below) + 0.5 * (above == below)).mean())


@pytest.mark.parametrize("noise", [0.0, 8.0])
def test_intervals_cover_the_population(noise: float) -> None:
    """The AUC and the accuracy of the population lie in 95 % intervals about 95 times in a hundred."""
    rng = np.random.default_rng(2)
    many, labels = drawn(rng, 400_000)
    whole = evaluation(counted(many, labels), 0.0, EDGES)
    assert whole.auc is not None
    assert whole.accuracy is not None
    inside = np.zeros(2)
    for _ in range(400):
        sums = counted(*drawn(rng, 1500)) + noise * rng.normal(size=20)
        found = evaluation(sums, noise**2, EDGES)
        assert found.auc is not None
        assert found.accuracy is not None
        inside += [
            found.auc.low <= whole.auc.value <= found.auc.high,
            found.accuracy.low <= whole.accuracy.value <= found.accuracy.high,
        ]
    # Four standard errors of 400 draws are 0.044.
    assert (inside / 400 >= 0.906).all()
    assert (inside / 400 <= 0.992).all()


@given(st.lists(st.floats(-1e4, 1e4), min_size=20, max_size=20), st.floats(0, 1e4))
def test_no_counts_make_it_fail(sums: list[float], variance: float) -> None:
    for row in evaluation(np.array(sums), variance, EDGES).rows(EDGES):
        assert row.value is None or np.isfinite(row.value)
        assert row.value is not None or row.remark
    for point in curve(np.array(sums), variance, EDGES) or ():
        assert 0 <= point.low <= point.y <= point.high <= 1
    for row in classification(np.array(sums[:16]), variance, ("a", "b", "c", "d")):
        assert row.value is None or np.isfinite(row.value)


def test_several_classes_have_accuracy_and_recalls() -> None:
    counts = np.array([[50, 5, 0], [10, 30, 5], [0, 5, 45]], dtype=np.float64)
    found = {row.name: row.value for row in classification(counts.ravel(), 0.0, ("a", "b", "c"))}
    assert found["units"] == 150
    assert found["accuracy"] == pytest.approx(125 / 150)
    assert found["recall of a"] == pytest.approx(50 / 60)
    assert found["recall of c"] == pytest.approx(45 / 50)
    # The classes hold 60, 40 and 50.
    assert found["share of the commonest class"] == pytest.approx(60 / 150)


@pytest.mark.parametrize("noise", [0.0, 6.0])
def test_the_interval_of_the_balanced_accuracy_holds_it(noise: float) -> None:
    """In 95 of 100 samples at least: it joins the ends of recalls that hold theirs all at once."""
    rng = np.random.default_rng(5)
    shares = np.array([[0.80, 0.02], [0.14, 0.04]])
    truth = (0.80 / 0.94 + 0.04 / 0.06) / 2
    inside, widths = 0, []
    for _ in range(400):
        sums = rng.multinomial(1500, shares.ravel()) + noise * rng.normal(size=4)
        found = balanced_accuracy(sums, noise**2, np.arange(2))
        assert found is not None
        inside += found.low <= truth <= found.high
        widths.append(found.high - found.low)
    assert inside >= 0.95 * 400
    assert np.mean(widths) < 0.25
    exact = balanced_accuracy(1500 * shares.ravel(), 0.0, np.arange(2))
    assert exact is not None
    assert exact.value == pytest.approx(truth)
    assert balanced_accuracy(np.array([90.0, 1.0, 9.0, -1.0]), 100.0, np.arange(2)) is None


def test_a_roc_curve_goes_through_what_the_scores_give() -> None:
    scores, labels = drawn(np.random.default_rng(3), 4000)
    found = curve(counted(scores, labels), 0.0, EDGES)
    assert found is not None
    places = [(point.x, point.y) for point in found]
    assert (places[0], places[-1]) == ((0.0, 0.0), (1.0, 1.0))
    for edge in EDGES[1:-1]:
        exact = [(scores[labels == label] >= edge).mean() for label in (0, 1)]
        assert min(np.hypot(*np.subtract(place, exact)) for place in places) < 1e-11
    assert sorted(places) == places


@pytest.mark.parametrize("noise", [0.0, 6.0])
def test_the_band_holds_the_point_of_a_threshold(noise: float) -> None:
    """At each threshold in 95 of 100 samples at least: it joins the corners of rectangles of 95 %."""
    rng = np.random.default_rng(4)
    truth = rates(counted(*drawn(rng, 400_000)), 0.0, EDGES)
    assert truth is not None
    inside = np.zeros(len(truth))
    for _ in range(300):
        found = curve(counted(*drawn(rng, 1500)) + noise * rng.normal(size=20), noise**2, EDGES)
        assert found is not None
        x, _, low, high = map(np.array, zip(*found, strict=True))
        places = [one.mistaken.value for one in truth]
        upper, lower = np.interp(places, x, high), np.interp(places, x, low)
        inside += [down <= one.found.value <= up for one, down, up in zip(truth, lower, upper, strict=True)]
    # Four standard errors of 300 draws are 0.05.
    assert (inside / 300 >= 0.90).all()
    # A band that reached from 0 to 1 would hold all of them.
    assert np.mean(upper - lower) < 0.3


def test_who_was_called_what_adds_up_and_holds_the_noise() -> None:
    counts, variance = np.array([[50.0, 5.0], [-3.0, 40.0]]), np.array([[4.0, 8.0], [4.0, 8.0]])
    found = confusion(counts, variance)
    assert [[cell.value for cell in row] for row in found] == [[50, 5, 55], [0, 40, 37], [47, 45, 92]]
    halves = [[cell.high - cell.value for cell in row] for row in found]
    assert halves == [pytest.approx(1.96 * np.sqrt(row), rel=1e-3) for row in
                      ([4, 8, 12], [4, 8, 12], [8, 16, 24])]  # fmt: skip
