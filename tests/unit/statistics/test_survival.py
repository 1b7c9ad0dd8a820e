"""Life tables and the log-rank test."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.arrays import Floats
from discreet.statistics import logrank, survival

EDGES = [0.0, 1.0, 2.0, 3.0, math.inf]
# Of 100: events and censored in each bin; the last bin holds those who were still followed at 3.
EVENTS, CENSORED = np.array([10.0, 20.0, 9.0, 0.0]), np.array([10.0, 10.0, 11.0, 30.0])
ONE = np.column_stack([EVENTS, CENSORED])


def test_without_noise_the_curve_is_the_life_table() -> None:
    (curve,) = survival(ONE.ravel(), 0.0, EDGES, ["all"]).curves
    exposed = np.array([100, 80, 50]) - np.array([10, 10, 11]) / 2
    expected = np.cumprod(1 - EVENTS[:3] / exposed)
    assert list(curve.times) == [1, 2, 3]
    assert [one.value for one in curve.survival if one] == pytest.approx(expected)
    assert [one.value for one in curve.at_risk] == [100, 80, 50, 30]


def test_without_censoring_it_is_the_share_and_wilsons_interval() -> None:
    counts = np.array([[10.0, 0], [20, 0], [30, 0], [0, 40]])
    (curve,) = survival(counts.ravel(), 0.0, EDGES, ["all"]).curves
    assert [one.value for one in curve.survival if one] == pytest.approx([0.9, 0.7, 0.4])
    second = curve.survival[1]
    assert second is not None
    assert [second.low, second.high] == pytest.approx([0.6042, 0.7811], abs=1e-4)


def test_the_median_lies_where_the_curve_passes_one_half() -> None:
    counts = np.array([[10.0, 0], [20, 0], [30, 0], [0, 40]])
    (curve,) = survival(counts.ravel(), 0.0, EDGES, ["all"]).curves
    assert curve.median is not None
    assert curve.median.value == pytest.approx(2 + 2 / 3)
    assert curve.median.low < curve.median.value < curve.median.high


def test_the_restricted_mean_is_the_area_under_constant_hazards() -> None:
    counts = np.array([[10.0, 0], [20, 0], [30, 0], [0, 40]])
    (curve,) = survival(counts.ravel(), 0.0, EDGES, ["all"]).curves
    assert curve.restricted_mean is not None
    areas = [0.1 / math.log(1 / 0.9), 0.2 / math.log(0.9 / 0.7), 0.3 / math.log(0.7 / 0.4)]
    assert curve.restricted_mean.value == pytest.approx(sum(areas), abs=5e-4)
    # Without censoring it is the mean of min(time, 3), events in the middle of their bin.
    times = np.repeat([0.5, 1.5, 2.5, 3.0], [10, 20, 30, 40])
    half = curve.restricted_mean.high - curve.restricted_mean.value
    assert half == pytest.approx(1.959964 * times.std() / 10, rel=0.04)


def test_noise_of_the_curve_is_that_of_its_coordinates() -> None:
    """By numerical derivatives: the noise of every coordinate, shared by those at risk, is in the band."""
    variance = 16.0

    def curve(counts: Floats) -> Floats:
        (found,) = survival(counts, 0.0, EDGES, ["all"]).curves
        return np.array([one.value for one in found.survival if one])

    base = 10 * ONE.ravel()
    steps = np.eye(len(base)) * 1e-3
    slopes = np.array([(curve(base + step) - curve(base - step)) / 2e-3 for step in steps])
    noise = variance * (slopes**2).sum(axis=0)
    (noisy,) = survival(base, variance, EDGES, ["all"]).curves
    (plain,) = survival(base, 0.0, EDGES, ["all"]).curves
    for place in range(3):
        band, without = noisy.survival[place], plain.survival[place]
        assert band is not None
        assert without is not None
        # An end s of the band without noise tells the effective number of units.
        effective = 1.959964**2 * without.low * (1 - without.low) / (without.value - without.low) ** 2
        for end in (band.low, band.high):
            spread = end * (1 - end) / effective + noise[place]
            assert (band.value - end) ** 2 == pytest.approx(1.959964**2 * spread, rel=1e-4)


def test_noise_of_the_restricted_mean_is_that_of_its_coordinates() -> None:
    def area(counts: Floats, variance: float = 0.0) -> tuple[float, float]:
        (found,) = survival(counts, variance, EDGES, ["all"]).curves
        assert found.restricted_mean is not None
        return found.restricted_mean.value, (
            found.restricted_mean.high - found.restricted_mean.value
        ) / 1.959964

    base = 10 * ONE.ravel()
    slopes = np.array([(area(base + step)[0] - area(base - step)[0]) / 2e-3 for step in np.eye(8) * 1e-3])
    assert area(base, 16.0)[1] ** 2 - area(base)[1] ** 2 == pytest.approx(16 * (slopes**2).sum(), rel=1e-4)


def test_times_are_told_as_long_as_somebody_is_seen_at_risk() -> None:
    counts = np.array([[100.0, 100], [200, 200], [1, 1], [0, 1]])
    (curve,) = survival(counts.ravel(), 400.0, EDGES, ["all"]).curves
    assert curve.survival[1] is not None
    assert curve.survival[2] is None
    assert curve.restricted_mean is None
    rows = {row.name: row.remark for row in curve.rows()}
    assert rows["all: survival at 3"] == "cannot be told at this noise"


def test_nobody_left_ends_the_curve_at_zero() -> None:
    (curve,) = survival(np.array([5.0, 0, 5, 0, 0, 0]), 0.0, [0, 1, 2, 3], ["all"]).curves
    assert curve.survival[1] is not None
    assert curve.survival[1].value == 0
    assert curve.survival[1].high < 0.4


def test_a_curve_that_stays_above_one_half_has_no_median() -> None:
    (curve,) = survival(np.array([1.0, 0, 1, 0, 1, 0, 0, 97]), 0.0, EDGES, ["all"]).curves
    assert curve.median is not None
    assert math.isinf(curve.median.value)
    (row,) = (row for row in curve.rows() if "median" in row.name)
    assert row.value is None
    assert row.remark.endswith("not reached")


def seeded(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_the_log_rank_test_is_the_textbooks_without_noise() -> None:
    """Without censoring: (O − E)² over the hypergeometric variance; its p-value is near that of χ²."""
    counts = np.array([[[30.0, 0], [30, 0], [20, 0], [0, 120]], [[20, 0], [20, 0], [16, 0], [0, 144]]])
    found = logrank(counts.ravel(), 0.0, EDGES, ["a", "b"], rng=seeded(), draws=20_000).p_value
    difference, variance = 0.0, 0.0
    for one, other in zip([(200, 30), (170, 30), (140, 20)], [(200, 20), (180, 20), (160, 16)], strict=True):
        n, d = one[0] + other[0], one[1] + other[1]
        difference += one[1] - d * one[0] / n
        variance += d * one[0] * other[0] * (n - d) / (n * n * (n - 1))
    assert found == pytest.approx(math.erfc(abs(difference) / math.sqrt(2 * variance)), abs=0.01)


def drawn(rng: np.random.Generator, chance: float) -> Floats:
    """Two groups of 500 with one chance of an event in each of three bins."""
    left, found = np.array([500, 500]), []
    for _ in range(3):
        events = rng.binomial(left, chance)
        censored = rng.binomial(left - events, 0.05)
        found.append(np.stack([events, censored], axis=-1))
        left = left - events - censored
    return np.stack([*found, np.stack([0 * left, left], axis=-1)], axis=1).ravel().astype(np.float64)


def test_noise_is_part_of_the_null_hypothesis() -> None:
    rejected, naive = 0, 0
    for seed in range(200):
        rng = seeded(seed)
        noisy = drawn(rng, 0.1) + rng.normal(0, 15, 16)
        p_value = logrank(noisy, 225.0, EDGES, ["a", "b"], rng=rng, draws=199).p_value
        blind = logrank(noisy, 1e-9, EDGES, ["a", "b"], rng=rng, draws=199).p_value
        assert p_value is not None
        assert blind is not None
        rejected, naive = rejected + (p_value <= 0.05), naive + (blind <= 0.05)
    # 22 of Bin(200, 0.05) are exceeded with probability 2e-4.
    assert rejected <= 22
    assert naive > 50


def test_a_difference_is_found_through_noise() -> None:
    rng = seeded(2)
    counts = drawn(rng, 0.05)
    counts[8:] = drawn(rng, 0.3)[8:]
    assert logrank(counts + rng.normal(0, 10, 16), 100.0, EDGES, ["a", "b"], rng=rng).p_value == 1 / 2000


def test_the_same_seed_gives_the_same_p_value() -> None:
    counts = drawn(seeded(1), 0.1)
    answers = {logrank(counts, 9.0, EDGES, ["a", "b"], rng=seeded(5), draws=99).p_value for _ in range(2)}
    assert len(answers) == 1


def test_one_group_is_compared_with_nothing() -> None:
    found = logrank(ONE.ravel(), 1.0, EDGES, ["all"], rng=seeded())
    assert found.p_value is None
    assert "cannot be told" in found.rows()[0].remark
