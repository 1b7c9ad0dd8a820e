"""The error budget of the float64 Gaussian, term by term, against 200-bit arithmetic."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf, workprec

from discreet.mechanisms.box_muller import (
    _EXTENDED_PI,
    edges,
    error_bound,
    gaussian_pairs,
    half_cos_sin_series,
)
from discreet.mechanisms.exponentials import HAS_EXTENDED, extended_neg_log, log_uniform
from discreet.mechanisms.intervals import Interval
from discreet.mechanisms.scratch import Scratch
from discreet.randomness import SeededRandom


def _real(interval: Interval) -> mpf:
    return (mp.make_mpf(interval.bounds[0]) + mp.make_mpf(interval.bounds[1])) / 2


def test_polynomials_are_within_the_budget() -> None:
    """2^-51 for S and C, rounding in float64 included."""
    a = np.concatenate([np.linspace(-1, 1, 1501), [1e-9, 2.0**-30]])
    x = a * a
    both = np.empty((2, len(x)))
    half_cos_sin_series(x, both)
    cosine, sine = both[0], both[1] * a
    with workprec(200):
        for ai, si, ci in zip(a, sine, cosine, strict=True):
            half = mp.pi * mpf(float(ai)) / 2
            assert abs(mpf(float(si)) - mp.sin(half)) < mpf(2) ** -51
            assert abs(mpf(float(ci)) - mp.cos(half)) < mpf(2) ** -51


@pytest.mark.parametrize("name", ["log1p", "exp", "expm1", "sinh", "cosh"])
def test_library_functions_are_within_four_units_in_the_last_place(name: str) -> None:
    """What `SAMPLER_ASSUMPTION` says of them, at points of the ranges in which the samplers call them."""
    random = SeededRandom(2).uniform(600)
    points = np.concatenate([random - 0.5, 2.0**-10 * random, -(2.0**-30) * random])
    computed = getattr(np, name)(points)
    with workprec(200):
        for point, value in zip(points, computed, strict=True):
            exact = getattr(mp, name)(mpf(float(point)))
            assert abs(mpf(float(value)) - exact) <= 4 * mpf(2) ** -52 * abs(exact)


def _whole(value: Any) -> mpf:
    """An extended-precision number as it is."""
    high = float(value)
    return mpf(high) + mpf(float(value - np.longdouble(high)))


@pytest.mark.skipif(not HAS_EXTENDED, reason="no extended precision on this platform")
def test_extended_functions_are_within_their_assumption() -> None:
    random = SeededRandom(6).uniform(500).astype(np.longdouble) / np.longdouble(3)
    with workprec(200):
        assert abs(_whole(_EXTENDED_PI) - mp.pi) < mpf(2) ** -62.9
        for point in random:
            exact = _whole(point)
            assert abs(_whole(np.log(point)) / mp.log(exact) - 1) < mpf(2) ** -60
            assert abs(_whole(np.log1p(-point)) / mp.log1p(-exact) - 1) < mpf(2) ** -60
            angle = 9 * point
            assert abs(_whole(np.cos(angle)) - mp.cos(_whole(angle))) < mpf(2) ** -60
            assert abs(_whole(np.sin(angle)) - mp.sin(_whole(angle))) < mpf(2) ** -60


def test_numpy_log_is_within_four_units_in_the_last_place() -> None:
    points = np.concatenate(
        [
            SeededRandom(1).uniform(1500) + 2.0**-54,
            1.0 - 2.0 ** -np.arange(1.0, 53.0),
            2.0 ** -np.arange(1.0, 64.0),
        ]
    )
    computed = np.log(points)
    with workprec(200):
        for point, value in zip(points, computed, strict=True):
            exact = mp.log(mpf(float(point)))
            assert abs(mpf(float(value)) - exact) <= 4 * mpf(2) ** -53 * 2 * abs(exact)


@pytest.mark.parametrize("stddev", [0.3, 2.0**8, 2.0**20, 2.0**40])
def test_values_are_within_their_bounds(stddev: float) -> None:
    """Random pairs, and those nearest to the two void edges, where the bound is tightest."""
    num_pairs = 1 << 17
    pairs = gaussian_pairs(stddev, num_pairs, SeededRandom(3), Scratch())
    by_radius = np.setdiff1d(np.argsort(pairs.words[:num_pairs]), pairs.void_pairs, assume_unique=True)
    chosen = np.concatenate([by_radius[:60], by_radius[-60:], by_radius[:: len(by_radius) // 300]])
    indices = np.concatenate([chosen, chosen + num_pairs])
    extended, errors = pairs.extended(indices)
    worst = mpf(0)
    with workprec(300):
        for i, value, error in zip(indices, extended, errors, strict=True):
            exact = _real(pairs.exact(int(i), 64))
            worst = max(worst, abs(mpf(float(pairs.values[i])) - exact))
            if HAS_EXTENDED:
                high = float(value)
                assert abs(mpf(high) + mpf(float(value - np.longdouble(high))) - exact) < mpf(float(error))
        assert worst < error_bound(stddev)
        # A bound that is never approached would hide a wrong unit.
        assert worst > 1e-6 * error_bound(stddev)


def test_void_pairs_are_those_beyond_the_edges() -> None:
    stddev = 2.0**40
    pairs = gaussian_pairs(stddev, 1 << 16, SeededRandom(4), Scratch())
    u = pairs.words[: 1 << 16].astype(float) * 2.0**-64
    edge = edges(stddev)
    expected = np.flatnonzero((u < 2.0**-edge.low) | (u >= 1 - 2.0**-edge.high))
    assert np.array_equal(pairs.void_pairs, expected)
    assert len(expected) > 100


def test_more_bits_narrow_the_interval() -> None:
    pairs = gaussian_pairs(1.0, 4, SeededRandom(5), Scratch())
    wide, narrow = pairs.exact(6, 64), pairs.exact(6, 256)
    assert mp.make_mpf(wide.bounds[0]) <= mp.make_mpf(narrow.bounds[0])
    assert mp.make_mpf(narrow.bounds[1]) <= mp.make_mpf(wide.bounds[1])
    assert mp.make_mpf(narrow.bounds[1]) - mp.make_mpf(narrow.bounds[0]) < mpf(2) ** -250


def test_uniforms_of_zero_words_are_finite() -> None:
    words = np.array([0, 1, 2**64 - 1], dtype=np.uint64)
    assert np.all(np.isfinite(log_uniform(words, Scratch())))
    values, errors = extended_neg_log(words)
    assert np.all(np.isfinite(values))
    assert not HAS_EXTENDED or errors[0] >= 1.0


def test_budget_formula() -> None:
    """The bound is the sum that the module's docstring states, in units of σ."""
    edge = edges(2.0**20)
    radius = math.sqrt(2 * edge.low * math.log(2))
    terms = 1.01 * 2 ** ((edge.high - 1) / 2 - 53) + 2.0 ** (edge.low - 63) / radius
    terms += radius * (3 * 2.0**-50 + 6 * 2.0**-53)
    assert error_bound(2.0**20) / 2.0**20 == pytest.approx(1.01 * terms, rel=0.1, abs=0.0)
    assert error_bound(2.0**20) / 2.0**20 >= terms
