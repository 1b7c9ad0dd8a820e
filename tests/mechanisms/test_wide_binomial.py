"""Bin(n, p) for 2^22 … 2^82 trials: the acceptance probability, its bound, and that float64 decides right."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf, workprec

from discreet.mechanisms import PoissonBinomial, wide_binomial
from discreet.mechanisms.wide_binomial import (
    WIDE_TV,
    Proposals,
    draw_wide_binomial,
    exact_acceptance,
    log_acceptance,
    proposal_stddev,
)
from discreet.randomness import SeededRandom

TRIALS = [2**22, 2**22 + 12_345, 2**31 - 1, 2**52 + 7, 2**62 + 99, 2**82]
PROBS = [0.25, 0.3, 0.4999, 0.5, 0.5 + 2.0**-30, 0.6180339887, 0.75]


def _fractions(trials: int, prob: float, count: int) -> np.ndarray:
    return wide_binomial._centres(trials, np.full(count, prob))[1]


@pytest.mark.parametrize("trials", TRIALS)
def test_acceptance_in_float64_is_within_its_tolerance(trials):
    offsets = np.round(np.array([-13, -8.2, -3, 0, 1, 5.5, 10, 13]) * proposal_stddev(trials))
    offsets = offsets.astype(np.int64)
    for prob in PROBS:
        fractions = _fractions(trials, prob, len(offsets))
        logs = log_acceptance(Proposals(trials, np.full(len(offsets), prob), fractions, offsets))
        for offset, value in zip(offsets, np.exp(logs), strict=True):
            low, high = (mp.make_mpf(bound) for bound in exact_acceptance(trials, prob, int(offset)).bounds)
            assert high - low < mpf(2) ** -100
            assert abs(mpf(float(value)) - low) < mpf(2) ** -42


@pytest.mark.parametrize("trials", TRIALS)
def test_acceptance_never_exceeds_one_and_is_not_rare(trials):
    """For every p and every fraction of np; the edges of the reach are among the points."""
    z = np.linspace(-13.0, 13.0, 4001)
    offsets = np.round(z * proposal_stddev(trials)).astype(np.int64)
    for prob in PROBS:
        for fraction in (-0.5, 0.0, 0.5):
            logs = log_acceptance(Proposals(trials, np.full(4001, prob), np.full(4001, fraction), offsets))
            assert logs.max() <= 0.0
            accepted = np.sum(np.exp(logs - z * z / 2)) / np.sum(np.exp(-z * z / 2))
            assert accepted > 0.6


def test_acceptance_is_the_ratio_of_the_two_laws():
    trials, prob = 2**22 + 2, 0.3
    centre = round(trials * prob)
    with workprec(300):
        s, p = mpf(proposal_stddev(trials)), mpf(prob)

        def ratio(j):
            mass = mp.binomial(trials, centre + j) * p ** (centre + j) * (1 - p) ** (trials - centre - j)
            return mass / mp.exp(-(mpf(j) ** 2) / (2 * s * s))

        found = [mp.make_mpf(exact_acceptance(trials, prob, j).bounds[0]) for j in (0, -2500)]
        assert abs(found[1] / found[0] / (ratio(-2500) / ratio(0)) - 1) < mpf(2) ** -90


def test_centres_are_exact_beyond_64_bits():
    trials, probs = 2**82 - 1, np.array([0.25, 0.5 - 2.0**-54, 0.3, 0.75])
    centres, fractions = wide_binomial._centres(trials, probs)
    with workprec(200):
        for prob, centre, fraction in zip(probs, centres, fractions, strict=True):
            assert abs(mpf(float(prob)) * trials - centre - mpf(float(fraction))) < mpf(2) ** -52
            assert abs(fraction) <= 0.5


def test_stated_distance_covers_both_tails():
    """Hoeffding beyond 13 deviations of the proposal; the proposal's own tail, at 60 % acceptance."""
    for trials in TRIALS:
        s = proposal_stddev(trials)
        binomial_tail = 2 * math.exp(-2 * (13 * s - 1) ** 2 / trials)
        proposal_tail = 2.1 * math.exp(-(13**2) / 2)
        assert binomial_tail + proposal_tail / 0.6 + 2.0**-120 < WIDE_TV
    assert 0 < PoissonBinomial(1.0, 2**40, 0.25).sampler_tv(10**9) < 1e-20


def test_intervals_decide_as_float64_does(monkeypatch):
    probs = np.linspace(0.25, 0.75, 3000)
    fast = draw_wide_binomial(2**40 + 3, probs, SeededRandom(4))
    calls = []
    decide = wide_binomial.exact_acceptance
    monkeypatch.setattr(wide_binomial, "_TOLERANCE", 2.0**-6)
    monkeypatch.setattr(wide_binomial, "exact_acceptance", lambda *args: calls.append(args) or decide(*args))
    assert np.array_equal(draw_wide_binomial(2**40 + 3, probs, SeededRandom(4)), fast)
    assert len(calls) > 10


def test_widest_draws_have_their_mean_and_variance():
    """2^82 trials, σ = 2^40; z-scores within 4.5."""
    probs = np.linspace(0.5 - 2.0**-24, 0.5 + 2.0**-24, 4000)
    z = (draw_wide_binomial(2**82, probs, SeededRandom(5)) - (probs - 0.5) * 2.0**82) / 2.0**40
    assert abs(z.mean()) < 4.5 / math.sqrt(4000)
    assert abs(np.mean(z**2) - 1) < 4.5 * math.sqrt(2 / 4000)
