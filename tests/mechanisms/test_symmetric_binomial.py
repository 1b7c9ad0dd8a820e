"""Bin(2^b, 1/2): the acceptance probability of the wide laws, and independence of the arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf, workprec

from discreet.mechanisms import PoissonBinomial, symmetric_binomial
from discreet.mechanisms.binomial import binomial_tv
from discreet.mechanisms.symmetric_binomial import (
    SYMMETRIC_TV,
    draw_symmetric_binomial,
    exact_acceptance,
    log_acceptance,
)
from discreet.randomness import SeededRandom

HALVES = [4096, 2**16, 2**20]


@pytest.mark.parametrize("half", HALVES)
def test_acceptance_in_float64_is_within_its_tolerance(half):
    ks = np.round(math.sqrt(half / 2) * np.array([0, 0.3, 1, 3, 6.5, 9, 11, 12.99])).astype(np.int64)
    computed = np.exp(log_acceptance(ks, half))
    for k, value in zip(ks, computed, strict=True):
        low, high = (mp.make_mpf(bound) for bound in exact_acceptance(int(k), half).bounds)
        assert high - low < mpf(2) ** -80
        assert abs(mpf(float(value)) - low) < mpf(2) ** -46


def test_acceptance_is_the_ratio_of_the_two_laws():
    half, k = 4096, 200
    with workprec(300):
        s2 = mpf(symmetric_binomial._proposal_stddev(half)) ** 2
        ratio = mp.binomial(2 * half, half + k) / mp.binomial(2 * half, half) * mp.exp(k * k / (2 * s2))
        assert abs(mp.make_mpf(exact_acceptance(k, half).bounds[0]) - ratio) < mpf(2) ** -90


@pytest.mark.parametrize("half", HALVES)
def test_fewer_are_rejected_than_screened(half):
    ks = np.unique(np.round(np.linspace(0, 13, 2001) * math.sqrt(half / 2))).astype(np.int64)
    logs = log_acceptance(ks, half)
    assert logs.max() <= 2.0**-50
    assert -np.expm1(logs).min() < min(1.0, 1600.0 / half + 2.0**-40)


def test_stated_distance_covers_both_tails():
    """Hoeffding at 13 deviations, and the proposal's own tail."""
    for half in HALVES:
        spread = 169 * (half / 2) / (2 * symmetric_binomial._proposal_stddev(half) ** 2)
        assert 2 * math.exp(-169 / 2) + 2.1 * math.exp(-spread) < SYMMETRIC_TV
    assert binomial_tv(256, 10**9) == 0.0
    assert 0 < PoissonBinomial(1.0, 2**40, 0.25).sampler_tv(10**9) < 1e-20


def test_intervals_only(monkeypatch):
    fast = draw_symmetric_binomial(13, 60_000, SeededRandom(4))
    calls = []
    decide = symmetric_binomial._rejected_exactly
    monkeypatch.setattr(symmetric_binomial, "_TOLERANCE", 2.0**-12)
    monkeypatch.setattr(
        symmetric_binomial, "_rejected_exactly", lambda *args: calls.append(args) or decide(*args)
    )
    assert np.array_equal(draw_symmetric_binomial(13, 60_000, SeededRandom(4)), fast)
    assert len(calls) > 10
