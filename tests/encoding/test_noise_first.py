"""Grids whose noise comes before the rounding: no sensitivity lost, fewer bits, refused without noise."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.arrays import Floats
from discreet.encoding import Grid, GridRequest, Rotation, decode, encode, noisy_integers, plan_grid, to_ring
from discreet.errors import ConfigurationError, PrivacyViolation
from discreet.mechanisms import NoiseFamily, law_for
from discreet.privacy.events import IntegerNoise, RoundedGaussianNoise
from discreet.randomness import SeededRandom

FULL_BATCH = GridRequest(
    l2_sensitivity=1.0,
    silo_bound=5600.0,
    num_silos=10,
    dimension=26_010,
    rounds=20,
    noise_multiplier=16.7,
    noise_first=True,
)
SMALL = GridRequest(
    l2_sensitivity=1.0,
    silo_bound=20.0,
    num_silos=4,
    dimension=300,
    rounds=3,
    noise_multiplier=20.0,
    noise_first=True,
)


def _law(grid: Grid, multiplier: float, num_silos: int) -> IntegerNoise:
    variance = (multiplier * grid.l2_sensitivity) ** 2
    return law_for(NoiseFamily.ROUNDED_GAUSSIAN, variance=variance, num_silos=num_silos)


@pytest.mark.parametrize(("rotated", "most", "other"), [(True, 13, 23), (False, 16, 27)])
def test_a_full_batch_takes_ten_bits_less(rotated: bool, most: int, other: int) -> None:
    request = dataclasses.replace(FULL_BATCH, rotated=rotated)
    grid = plan_grid(request)
    assert grid.with_noise(_law(grid, 16.7, 10)).bits <= most
    assert plan_grid(dataclasses.replace(request, noise_first=False)).bits == other


def test_rounding_costs_no_sensitivity_and_little_noise() -> None:
    grid = plan_grid(dataclasses.replace(FULL_BATCH, rotated=True))
    assert grid.scale < grid.l2_sensitivity <= grid.scale * (1.0 + 1e-8)
    assert grid.rounding_failure_prob == 0.0
    share = _law(grid, 16.7, 10)
    assert math.sqrt(1.0 + 1.0 / (12.0 * share.silo_stddev**2)) <= 1.01


def test_a_float_error_is_still_part_of_the_sensitivity() -> None:
    request = dataclasses.replace(SMALL, float_error=0.002)
    grid = plan_grid(request)
    assert grid.l2_sensitivity >= 1.004 * grid.scale


def test_a_narrow_noise_raises_the_scale() -> None:
    """One share keeps rounding's variance of 1/12 within max_inflation of its own deviation."""
    for inflation in (0.01, 0.1):
        grid = plan_grid(dataclasses.replace(SMALL, noise_multiplier=0.5, max_inflation=inflation))
        share = 0.5 * grid.l2_sensitivity / math.sqrt(4)
        assert share**2 * ((1 + inflation) ** 2 - 1) >= (1 - 1e-5) / 12


def test_without_noise_it_is_refused() -> None:
    grid = plan_grid(SMALL)
    with pytest.raises(ConfigurationError, match=r"noise is added before rounding.*noise_first=False"):
        encode(np.zeros(300), grid, SeededRandom(1))
    skellam = law_for(NoiseFamily.SKELLAM, variance=1e4, num_silos=4)
    with pytest.raises(ConfigurationError, match="must be a rounded Gaussian; got SkellamNoise"):
        noisy_integers(np.zeros(300), grid, skellam, SeededRandom(1))


@pytest.mark.parametrize(
    ("update", "error"),
    [(np.full(300, np.nan), PrivacyViolation), (np.full(300, 1.2), PrivacyViolation)],
)
def test_bad_updates_are_refused(update: Floats, error: type[PrivacyViolation]) -> None:
    grid = plan_grid(SMALL)
    with pytest.raises(error):
        noisy_integers(update, grid, _law(grid, 20.0, 4), SeededRandom(1))


@pytest.mark.parametrize("rotated", [False, True])
def test_sums_are_updates_plus_planned_noise(rotated: bool) -> None:
    grid = plan_grid(dataclasses.replace(SMALL, rotated=rotated))
    law = _law(grid, 20.0, 4)
    grid = grid.with_noise(law)
    rotation = Rotation.drawn(300, SeededRandom(9)) if rotated else None
    updates = np.random.default_rng(1).normal(size=(4, 300))
    untouched = updates.copy()
    errors = []
    for repeat in range(40):
        total = np.zeros(300, dtype=np.uint64)
        for i, update in enumerate(updates):
            integers = noisy_integers(update, grid, law, SeededRandom(repeat).derive(i), rotation)
            total += to_ring(integers, grid.bits)
        errors.append(decode(total, grid, rotation) - updates.sum(axis=0))
    assert np.array_equal(updates, untouched)
    # 12,000 squares and one mean: z within 5.
    assert abs(np.var(errors) * grid.scale**2 / law.variance - 1) < 5 * math.sqrt(2 / 12_000)
    assert abs(np.mean(errors)) < 5 * math.sqrt(law.variance / 12_000) / grid.scale


def test_what_scaling_moves_is_within_its_bound() -> None:
    """Exact rationals: scale·x in float64 against scale·x."""
    grid = plan_grid(SMALL)
    x = np.random.default_rng(3).normal(size=300)
    moved = math.sqrt(
        sum(
            float(Fraction(float(v * grid.scale)) - Fraction(float(v)) * Fraction(grid.scale)) ** 2 for v in x
        )
    )
    assert 2 * moved <= grid.l2_sensitivity - grid.scale


def test_the_law_names_what_is_added() -> None:
    grid = plan_grid(SMALL)
    law = _law(grid, 20.0, 4)
    assert isinstance(law, RoundedGaussianNoise)
    values = noisy_integers(np.zeros(300), grid, law, SeededRandom(5))
    assert values.dtype == np.int64
    assert abs(np.var(values) / (law.silo_stddev**2 + 1 / 12) - 1) < 5 * math.sqrt(2 / 300)
