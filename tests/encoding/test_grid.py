"""Grid planning: minimal rings, no wrap-around in the worst case, refusals that name the knob."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.encoding import Grid, GridRequest, encode, from_ring, plan_grid, required_bits, to_ring
from discreet.encoding.grid import NORM_TOLERANCE
from discreet.encoding.rotation import flattened_bound, rotation_error
from discreet.encoding.rounding import arithmetic_error, rounded_l2_bound
from discreet.errors import ConfigurationError
from discreet.mechanisms import NoiseFamily, law_for, sample_tail_bound
from discreet.privacy.events import DiscreteGaussianNoise
from discreet.randomness import SeededRandom

# The CNN of 26,010 weights, 10 silos, 20 rounds; z = 2.6 is more than (1, 1e-5) needs at sampling rate 0.1
# (bench/integers.py calibrates it), and 680 is a batch of 560 expected records with 5 deviations of room.
CNN = GridRequest(
    l2_sensitivity=1.0, silo_bound=680.0, num_silos=10, dimension=26_010, rounds=20, noise_multiplier=2.6
)

requests = st.builds(
    GridRequest,
    l2_sensitivity=st.floats(1e-6, 1e3),
    silo_bound=st.floats(1e3, 1e6),
    num_silos=st.integers(1, 1000),
    dimension=st.integers(1, 10**7),
    rounds=st.integers(1, 10_000),
    noise_multiplier=st.floats(0.3, 300.0),
    max_inflation=st.floats(1e-3, 0.5),
    rounding_beta=st.sampled_from([0.0, 1e-12]),
    rotated=st.booleans(),
)


def _planned(request: GridRequest) -> Grid | None:
    """The grid, or None if the request is refused for being out of reach of 62 bits or of float64."""
    try:
        return plan_grid(request)
    except ConfigurationError:
        return None


@given(request_=requests)
@settings(max_examples=150, deadline=None)
def test_planned_ring_holds_the_worst_case_and_no_narrower_one_does(request_: GridRequest) -> None:
    grid = _planned(request_)
    if grid is None:
        return
    law = DiscreteGaussianNoise(grid.l2_sensitivity * request_.noise_multiplier, 1)
    law = dataclasses.replace(
        law, silo_stddev=law.silo_stddev / math.sqrt(grid.num_silos), num_silos=grid.num_silos
    )
    prob = grid.wrap_prob / (2 * grid.dimension * grid.rounds)
    signal = grid.num_silos * grid.silo_bound * grid.scale
    if grid.rotated:
        signal = flattened_bound(signal, grid.dimension, prob)
    worst = signal + grid.num_silos + sample_tail_bound(law, prob)
    final = required_bits(grid, law)
    assert worst < 2 ** (final - 1)
    assert final == 8 or worst * (1 + 4 * NORM_TOLERANCE) >= 2 ** (final - 2) - 1
    assert final <= grid.bits
    limit = grid.scale * request_.l2_sensitivity * (1 + request_.max_inflation)
    assert grid.l2_sensitivity <= limit * (1 + 1e-9)


@given(request_=requests)
@settings(max_examples=60, deadline=None)
def test_sensitivity_is_never_below_the_scaled_one(request_: GridRequest) -> None:
    grid = _planned(request_)
    if grid is not None:
        assert grid.l2_sensitivity > grid.scale * request_.l2_sensitivity
        assert grid.rounding_failure_prob in {0.0, request_.rounding_beta}


def test_rounding_the_scale_up_is_paid_for() -> None:
    """Found by search: the shortened scale needed one bit more than the exact coarsest one."""
    request = GridRequest(
        l2_sensitivity=288.0,
        silo_bound=368255.0,
        num_silos=65,
        dimension=64,
        rounds=1232,
        noise_multiplier=300.0,
        max_inflation=0.33203125,
        rounding_beta=0.0,
    )
    grid = plan_grid(request)
    law = DiscreteGaussianNoise(300.0 * grid.l2_sensitivity / math.sqrt(65), 65)
    assert required_bits(grid, law) <= grid.bits


def test_finer_grids_cost_a_bit() -> None:
    """The scale fills the ring: an inflation 5 % smaller would need another bit."""
    grid = plan_grid(CNN)
    coarse = plan_grid(dataclasses.replace(CNN, max_inflation=(grid.l2_sensitivity / grid.scale - 1) * 1.01))
    assert coarse.bits == grid.bits
    finer = dataclasses.replace(CNN, max_inflation=(grid.l2_sensitivity / grid.scale - 1) * 0.95)
    assert plan_grid(finer).bits == grid.bits + 1


@pytest.mark.parametrize(("rotated", "most"), [(False, 28), (True, 20)])
@pytest.mark.parametrize(
    "family", [NoiseFamily.ROUNDED_GAUSSIAN, NoiseFamily.DISCRETE_GAUSSIAN, NoiseFamily.SKELLAM]
)
def test_cnn_fits_the_promised_width(rotated: bool, most: int, family: NoiseFamily) -> None:
    request = dataclasses.replace(CNN, rotated=rotated)
    grid = plan_grid(request)
    law = law_for(family, variance=(2.6 * grid.l2_sensitivity) ** 2, num_silos=10)
    assert grid.with_noise(law).bits <= most
    assert grid.l2_sensitivity <= 1.01 * grid.scale
    assert grid.payload_bytes == -(-26_010 * grid.bits // 8)


def test_worst_case_sum_does_not_wrap() -> None:
    """All silos at their bound, in one coordinate, with the same sign; then one bit less does wrap."""
    request = dataclasses.replace(CNN, dimension=4, silo_bound=1000.0)
    grid = plan_grid(request)
    law = law_for(NoiseFamily.ROUNDED_GAUSSIAN, variance=(2.6 * grid.l2_sensitivity) ** 2, num_silos=10)
    grid = grid.with_noise(law)
    for sign in (-1.0, 1.0):
        update = np.array([0.0, sign * 1000.0, 0.0, 0.0])
        total = np.sum([encode(update, grid, SeededRandom(i)) for i in range(10)], axis=0)
        total[1] += int(sign * sample_tail_bound(law, 2.0**-40))
        assert np.array_equal(from_ring(to_ring(total, grid.bits), grid.bits), total)
        assert not np.array_equal(from_ring(to_ring(total, grid.bits - 1), grid.bits - 1), total)


def test_ring_holds_the_noise_of_everyone_not_only_of_the_honest() -> None:
    grid = dataclasses.replace(plan_grid(CNN), num_silos=10, silo_bound=1e-3)
    honest = DiscreteGaussianNoise(1000.0, num_silos=2)
    everyone = DiscreteGaussianNoise(1000.0, num_silos=10)
    assert required_bits(grid, honest) == required_bits(grid, everyone)
    alone = dataclasses.replace(grid, num_silos=2)
    assert required_bits(alone, honest) < required_bits(grid, honest)


def test_wrap_probability_is_shared_by_all_coordinates_and_rounds() -> None:
    """σ = 1000: 7,535 for one draw at 2^-40, which 14 bits hold; 9,197 for 520,200 of them, which need 15."""
    grid = dataclasses.replace(plan_grid(CNN), num_silos=1, silo_bound=1e-3)
    assert required_bits(grid, DiscreteGaussianNoise(1000.0, 1)) == 15
    alone = dataclasses.replace(grid, dimension=1, rounds=1)
    assert required_bits(alone, DiscreteGaussianNoise(1000.0, 1)) == 14


def test_min_stddev_raises_the_scale() -> None:
    fine = plan_grid(dataclasses.replace(CNN, min_stddev=1e6))
    assert fine.l2_sensitivity * 2.6 >= 1e6
    assert fine.bits > plan_grid(CNN).bits


@pytest.mark.parametrize("rotated", [False, True])
def test_arithmetic_enters_the_sensitivity_twice(rotated: bool) -> None:
    """Both neighbours are moved; with a large bound the terms are far above the test's precision."""
    request = dataclasses.replace(CNN, silo_bound=1e9, rotated=rotated)
    grid = plan_grid(request)
    norm = grid.scale * 1e9
    moved = arithmetic_error(norm, 26_010) + (norm * rotation_error(26_010) if rotated else 0.0)
    expected = rounded_l2_bound(grid.scale + 2 * moved, 26_010, 1e-12)
    assert grid.l2_sensitivity == pytest.approx(expected.bound, rel=1e-12)
    assert expected.bound > rounded_l2_bound(grid.scale, 26_010, 1e-12).bound * (1 + 1e-7)


def test_float_error_enters_twice() -> None:
    exact = plan_grid(CNN)
    moved = plan_grid(dataclasses.replace(CNN, float_error=1e-3))
    ratio = (moved.l2_sensitivity / moved.scale) / (exact.l2_sensitivity / exact.scale)
    assert ratio >= 1.0015 or moved.scale > exact.scale


def test_a_grid_without_signal_is_refused() -> None:
    grid = plan_grid(CNN)
    with pytest.raises(ConfigurationError, match="at least one grid unit"):
        dataclasses.replace(grid, scale=1e-3)
    with pytest.raises(ConfigurationError, match="'scale' parameter of Grid"):
        dataclasses.replace(grid, scale=math.nan)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"silo_bound": 0.5}, "silo_bound must be at least"),
        ({"silo_bound": 1e9, "num_silos": 10**9}, "Lower silo_bound"),
        ({"silo_bound": 1e18}, "lower silo_bound"),
        ({"noise_multiplier": math.nan}, "noise_multiplier"),
        ({"noise_multiplier": 0.0}, "noise_multiplier"),
        ({"l2_sensitivity": math.inf}, "l2_sensitivity"),
        ({"num_silos": 0}, "num_silos"),
        ({"rounds": 0}, "rounds"),
        ({"dimension": 0}, "dimension"),
        ({"max_inflation": 0.0}, "max_inflation"),
        ({"wrap_prob": 0.1}, "wrap_prob must be in"),
        ({"wrap_prob": math.nan}, "wrap_prob must be in"),
        ({"rounding_beta": 1.0}, "rounding_beta"),
        ({"float_error": 1.0}, "accumulate in float64"),
        ({"min_stddev": -1.0}, "min_stddev"),
        ({"num_honest": 11}, "num_honest"),
    ],
)
def test_infeasible_requests_name_the_knob(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        plan_grid(dataclasses.replace(CNN, **change))


def test_too_much_noise_for_any_ring_is_refused() -> None:
    grid = dataclasses.replace(plan_grid(CNN), silo_bound=1e15)
    with pytest.raises(ConfigurationError, match="Lower silo_bound or the noise"):
        required_bits(grid, DiscreteGaussianNoise(100.0, 10))
