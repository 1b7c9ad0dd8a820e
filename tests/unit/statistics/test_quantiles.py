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


def test_the_interval_ends_at_the_first_edges_that_are_196_errors_away() -> None:
    edges = np.linspace(0, 1, 11)
    counts, variance = np.full(10, 100.0), 25.0
    (found,) = quantiles(counts, variance, edges.tolist(), [0.5]).values
    assert found is not None
    for place, edge in enumerate(edges):
        spread = 1000 * 0.25 + variance * (0.25 * place + 0.25 * (10 - place))
        certain = abs(100.0 * place - 500) > 1.959964 * np.sqrt(spread)
        assert certain == (edge <= found.low or edge >= found.high)


def test_without_noise_the_interval_is_that_of_a_share_and_a_bin_on_each_side() -> None:
    fine = np.full(1000, 10.0)
    (found,) = quantiles(fine, 0.0, np.linspace(0, 1, 1001).tolist(), [0.3]).values
    assert found is not None
    half = scipy.stats.norm.ppf(0.975) * np.sqrt(0.3 * 0.7 / 10_000)
    assert list(found) == pytest.approx([0.3, 0.3 - half, 0.3 + half], abs=0.001)
    assert found.low <= 0.3 - half
    assert found.high >= 0.3 + half


@pytest.mark.parametrize("bins", [8, 64])
@pytest.mark.parametrize("noise", [0.0, 4.0])
def test_intervals_cover_whatever_the_number_does_inside_its_bins(bins: int, noise: float) -> None:
    """An exponential number in wide bins: nearly all of it in the first, where it is anything but even."""
    rng = np.random.default_rng(3)
    edges, inside = np.linspace(0, 100, bins + 1), 0
    truth = -4.0 * np.log(0.5)
    for _ in range(300):
        counts, _ = np.histogram(np.clip(rng.exponential(4.0, 2000), 0, 100), edges)
        noisy = counts + noise * rng.normal(size=bins)
        (found,) = quantiles(noisy, noise**2, edges.tolist(), [0.5]).values
        assert found is not None
        inside += found.low <= truth <= found.high
    # Four standard errors of 300 draws are 0.05.
    assert inside / 300 >= 0.90


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
