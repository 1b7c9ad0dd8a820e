"""Quantiles of a histogram."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from discreet.statistics import quantiles

EDGES = [0.0, 10.0, 20.0, 40.0, 80.0]
COUNTS = np.array([100.0, 300.0, 400.0, 200.0])


def test_without_noise_quantiles_are_interpolated_inside_their_bin() -> None:
    found = quantiles(COUNTS, 0.0, EDGES, [0.1, 0.25, 0.5, 0.9])
    assert [one.value for one in found.values if one] == pytest.approx([10, 15, 25, 60])
    assert [row.name for row in found.rows()] == [
        "quantile 0.1",
        "quantile 0.25",
        "quantile 0.5",
        "quantile 0.9",
    ]


def test_the_interval_ends_where_the_distribution_function_is_196_errors_away() -> None:
    variance = 25.0
    (found,) = quantiles(COUNTS, variance, EDGES, [0.5]).values
    assert found is not None
    for end in (found.low, found.high):
        below = np.interp(end, EDGES, [0, 1, 2, 3, 4])
        away = np.interp(end, EDGES, [0, 100, 400, 800, 1000]) - 500
        spread = 1000 * 0.25 + variance * (0.25 * below + 0.25 * (4 - below))
        assert away**2 == pytest.approx(1.959964**2 * spread, rel=1e-5)


def test_without_noise_the_interval_is_that_of_a_share() -> None:
    fine = np.full(1000, 10.0)
    (found,) = quantiles(fine, 0.0, np.linspace(0, 1, 1001).tolist(), [0.3]).values
    assert found is not None
    half = scipy.stats.norm.ppf(0.975) * np.sqrt(0.3 * 0.7 / 10_000)
    assert list(found) == pytest.approx([0.3, 0.3 - half, 0.3 + half])


def test_the_estimate_is_monotone_through_noise() -> None:
    noisy = np.array([100.0, 300.0, -50.0, 250.0, 400.0])
    found = quantiles(noisy, 100.0, [0, 1, 2, 3, 4, 5], np.linspace(0.01, 0.99, 50).tolist())
    values = [one.value for one in found.values if one]
    assert len(values) == 50
    assert values == sorted(values)


def test_a_hidden_total_tells_nothing() -> None:
    found = quantiles(np.array([5.0, -5.0]), 100.0, [0, 1, 2], [0.5])
    assert found.values == (None,)
    assert found.rows()[0].remark == "cannot be told at this noise"
