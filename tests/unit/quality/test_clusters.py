"""Records of one person go together: intervals are as wide as persons, and not records, make them."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.arrays import Floats
from discreet.quality import assess, assess_numbers
from discreet.quality.clusters import design_effect, paired_p_value
from discreet.quality.intervals import Interval

RNG = np.random.default_rng(3)
PERSONS, EACH = 120, 8
PROBABILITIES = RNG.uniform(0.02, 0.98, PERSONS)
LABELS = (RNG.uniform(size=PERSONS) < PROBABILITIES).astype(np.int64)
WHOSE = np.repeat(np.arange(PERSONS), EACH)


def answers(probabilities: Floats) -> Floats:
    return np.stack([1.0 - probabilities, probabilities], axis=1)


def width(found: Interval | None) -> float:
    assert found is not None
    return found.high - found.low


def test_copies_of_a_record_say_no_more_than_the_record() -> None:
    """Eight equal records of each person have about the intervals of one record each."""
    one = assess(answers(PROBABILITIES), LABELS)
    many = answers(np.repeat(PROBABILITIES, EACH)), np.repeat(LABELS, EACH)
    told, naive = assess(*many, persons=WHOSE), assess(*many)
    assert (told.persons, naive.persons, told.records) == (PERSONS, None, PERSONS * EACH)
    for name in ("accuracy", "balanced_accuracy", "brier"):
        right, own, wrong = (width(getattr(found, name)) for found in (one, told, naive))
        assert own == pytest.approx(right, rel=0.1), name
        assert wrong < 0.5 * right, name
    for name in ("recall", "precision", "f1", "auc", "average_precision"):
        right, own, wrong = (width(getattr(found.classes[1], name)) for found in (one, told, naive))
        assert own == pytest.approx(right, rel=0.15), name
        assert wrong < 0.5 * right, name
    assert naive.against.p_value < 1e-6 < told.against.p_value
    assert told.against.p_value == pytest.approx(one.against.p_value, rel=2.0)


def test_records_of_their_own_persons_are_as_records() -> None:
    told = assess(answers(PROBABILITIES), LABELS, persons=np.arange(PERSONS))
    one = assess(answers(PROBABILITIES), LABELS)
    assert width(told.accuracy) == pytest.approx(width(one.accuracy), rel=0.01)
    assert width(told.classes[1].auc) == pytest.approx(width(one.classes[1].auc), rel=0.01)


def test_an_interval_holds_the_truth_as_often_as_it_says() -> None:
    """Persons with 1 to 20 records, most of them alike: about 95 % of the intervals hold the share."""
    held, naive, draws = 0, 0, 300
    for _ in range(draws):
        sizes = RNG.integers(1, 21, 60)
        rates = RNG.beta(1.4, 0.6, 60)  # mean 0.7, independent of the size
        right = RNG.uniform(size=int(sizes.sum())) < np.repeat(rates, sizes)
        named = np.where(right, 1, 0)
        labels, whose = np.ones(len(right), dtype=np.int64), np.repeat(np.arange(60), sizes)
        probabilities = answers(named.astype(np.float64))
        held += holds(assess(probabilities, labels, persons=whose).accuracy, 0.7)
        naive += holds(assess(probabilities, labels).accuracy, 0.7)
    assert held / draws > 0.9
    assert naive / draws < 0.75


def holds(found: Interval, truth: float) -> bool:
    return found.low <= truth <= found.high


def test_resamples_of_a_regression_are_of_persons() -> None:
    labels = RNG.normal(size=PERSONS)
    predicted = labels + RNG.normal(size=PERSONS)
    one = assess_numbers(predicted, labels)
    many = np.repeat(predicted, EACH), np.repeat(labels, EACH)
    told, naive = assess_numbers(*many, persons=WHOSE), assess_numbers(*many)
    assert told.mae.value == pytest.approx(one.mae.value)
    assert width(told.mae) == pytest.approx(width(one.mae), rel=0.1)
    assert width(naive.mae) < 0.5 * width(one.mae)


def test_where_all_agree_a_person_counts_as_one_record() -> None:
    assert design_effect(np.zeros(12), np.array([0] * 9 + [1, 2, 3])) == pytest.approx((81 + 3) / 12)
    assert design_effect(np.array([0.5, -0.5]), np.array([7, 7])) == 2.0
    assert design_effect(np.zeros(0), np.zeros(0, dtype=np.int64)) == 1.0


def test_a_person_right_many_times_is_one_win() -> None:
    gains = np.ones(40, dtype=np.int64)
    assert paired_p_value(gains, np.zeros(40, dtype=np.int64)) == pytest.approx(0.3173, abs=1e-4)
    assert paired_p_value(0 * gains, np.arange(40)) == 1.0
