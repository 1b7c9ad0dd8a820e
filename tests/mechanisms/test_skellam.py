"""Skellam: the table's weights, the acceptance probability and the stated total variation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf, workprec

from discreet.mechanisms import sampler_tv
from discreet.mechanisms.skellam import (
    WIDE_VARIANCE,
    _proposal_stddev,
    exact_acceptance,
    log_acceptance,
    skellam_table,
    skellam_tv,
)
from discreet.mechanisms.tails import skellam_exponent
from discreet.privacy.events import SkellamNoise

WIDE = [4096.0, 65536.5, 2.0**40, 2.0**80]


@pytest.mark.parametrize("variance", [0.09, 1.0, 37.5, 4095.9])
def test_table_boundaries_are_the_distribution_function(variance: float) -> None:
    table = skellam_table(variance)
    with workprec(300):
        reach = min(40, -table.lowest)
        mass = [mp.besseli(k, mpf(variance)) * mp.exp(-mpf(variance)) for k in range(reach)]
        center = -table.lowest
        for k in range(1 - reach, reach):
            width = mpf(table.boundaries[center + k] - table.boundaries[center + k - 1]) / mpf(2) ** 128
            assert abs(width - mass[abs(k)]) < mpf(2) ** -126


def test_table_reaches_beyond_its_stated_distance() -> None:
    for variance in (0.09, 37.5, 4095.9):
        top = -skellam_table(variance).lowest
        beyond = math.hypot(variance, top) - variance - top * math.asinh(top / variance)
        # Twice the Chernoff bound of one side, and one unit of 2^-128 for each boundary.
        assert 2 * math.exp(beyond) + (2 * top + 1) * 2.0**-127 < skellam_tv(variance)


@pytest.mark.parametrize("variance", WIDE)
def test_acceptance_in_float64_is_within_its_tolerance(variance: float) -> None:
    ks = np.round(np.sqrt(variance) * np.array([0, 0.3, 1, 3, 6.5, 9, 11, 12.99])).astype(np.int64)
    computed = np.exp(log_acceptance(ks, variance))
    for k, value in zip(ks, computed, strict=True):
        low, high = (mp.make_mpf(bound) for bound in exact_acceptance(int(k), variance).bounds)
        assert high - low < mpf(2) ** -80
        assert abs(mpf(float(value)) - low) < mpf(2) ** -46
        assert low <= 1 + mpf(2) ** -100


def test_acceptance_is_the_ratio_of_the_two_laws() -> None:
    variance, k = 4096.0, 300
    s = mpf(_proposal_stddev(variance))
    with workprec(200):
        ratio = mp.besseli(k, variance) / mp.besseli(0, variance) * mp.exp(mpf(k) ** 2 / (2 * s * s))
        assert abs(mp.make_mpf(exact_acceptance(k, variance).bounds[0]) - ratio) < mpf(2) ** -90


@pytest.mark.parametrize("variance", WIDE)
def test_fewer_are_rejected_than_screened(variance: float) -> None:
    """The screening threshold of the sampler, 1.2·169²/(96μ), is above every 1 − a(k), and a(k) ≤ 1."""
    ks = np.unique(np.round(np.linspace(0, 13, 2001) * math.sqrt(variance))).astype(np.int64)
    logs = log_acceptance(ks, variance)
    assert logs.max() <= 2.0**-50
    assert -np.expm1(logs).min() < 1.2 * 169.0**2 / (96 * variance) + 2.0**-40


def test_wide_distance_covers_both_tails() -> None:
    for variance in WIDE:
        reach = 13.0 * math.sqrt(variance)
        skellam_side = 2 * math.exp(variance * skellam_exponent(reach / variance))
        proposal_side = 2.1 * math.exp(-(reach**2) / (2 * _proposal_stddev(variance) ** 2))
        assert skellam_side + proposal_side < skellam_tv(variance)


def test_stated_distance_is_added_up_over_coordinates() -> None:
    assert sampler_tv(SkellamNoise(WIDE_VARIANCE, 10), 1000) == 1000 * skellam_tv(WIDE_VARIANCE)
    assert 0 < sampler_tv(SkellamNoise(2.0, 1), 10**9) < 1e-20
