"""Centre and scale from noisy histograms: right where data tell, the public range where noise hides them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from discreet.statistics.standardise import centers_and_scales

Floats = npt.NDArray[np.float64]
FLOOR = 0.02


def histogram(numbers: Floats, bins: int) -> Floats:
    """Counts in bins of [-1, 1], and nobody who lacks the number."""
    return np.append(np.histogram(np.clip(numbers, -1, 1), bins, (-1, 1))[0], 0).astype(np.float64)


def normal(center: float, spread: float, count: int) -> Floats:
    return np.random.default_rng(0).normal(center, spread, count)


@pytest.mark.parametrize(("center", "spread"), [(-0.9, 0.04), (0.0, 0.05), (0.5, 0.2), (0.1, 0.35)])
def test_many_records_tell_where_they_are(center: float, spread: float) -> None:
    counts = histogram(normal(center, spread, 50_000), 63)
    noisy = counts + np.random.default_rng(1).normal(0, 40, counts.shape)
    (found,), (scale,) = centers_and_scales(noisy[None], 1600.0, floor=FLOOR)
    assert found == pytest.approx(center, abs=0.3 * spread + 0.01)
    assert scale == pytest.approx(2 * spread, rel=0.25)


def test_a_column_whose_records_are_everywhere_keeps_its_range() -> None:
    counts = histogram(np.random.default_rng(0).uniform(-1, 1, 5_000), 21)
    (center,), (scale,) = centers_and_scales(counts[None], 100.0, floor=FLOOR)
    assert abs(center) < 0.1
    assert scale == 1.0


def test_a_spike_does_not_hide_the_records_outside_of_it() -> None:
    """Half of the records at one end, the others anywhere: the spike alone is no window."""
    numbers = np.concatenate([np.full(2_000, -1.0), np.random.default_rng(0).uniform(-1, 1, 2_000)])
    _, (scale,) = centers_and_scales(histogram(numbers, 21)[None], 100.0, floor=FLOOR)
    assert scale > 0.9


def test_noise_alone_leaves_every_column_as_it_is() -> None:
    draws = np.random.default_rng(2)
    for _ in range(200):
        found = centers_and_scales(draws.normal(0, 50, (4, 12)), 2500.0, floor=FLOOR)
        assert found.tolist() == [[0.0] * 4, [1.0] * 4]


@pytest.mark.parametrize("counts", [np.zeros((2, 9)), -np.ones((2, 9)), np.eye(2, 9) * -1e9])
def test_no_records_and_negative_counts_are_no_error(counts: Floats) -> None:
    assert centers_and_scales(counts, 4.0, floor=FLOOR).tolist() == [[0.0, 0.0], [1.0, 1.0]]


def test_who_lacks_a_number_is_not_missed_in_its_window() -> None:
    """Otherwise a column that few have would be taken for one that is everywhere."""
    full, rare = histogram(normal(0.0, 0.05, 10_000), 63), histogram(normal(0.0, 0.05, 1_000), 63)
    rare[-1] = 9_000
    _, scales = centers_and_scales(np.stack([full, rare]), 100.0, floor=FLOOR)
    assert scales[1] == pytest.approx(0.1, rel=0.25)


def test_nothing_is_scaled_by_less_than_the_floor() -> None:
    counts = histogram(np.full(10_000, 0.5), 63)
    _, (scale,) = centers_and_scales(counts[None], 1.0, floor=0.3)
    assert scale == 0.3
