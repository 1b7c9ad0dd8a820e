"""Shares of discrete Laplace noise: the table, what sums of shares are, and how wide they are."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf, workprec

from discreet.errors import ConfigurationError
from discreet.mechanisms import (
    NoiseFamily,
    add_share,
    law_for,
    per_silo,
    sample_share,
    sample_tail_bound,
    sampler_tv,
)
from discreet.mechanisms.polya import POLYA_TV, central_half_width, decay_of, negative_binomial_table
from discreet.privacy.events import PolyaNoise
from discreet.randomness import SeededRandom


@pytest.mark.parametrize(("scale", "whole"), [(2.0**-4, 1), (0.5, 3), (1.0, 1), (3.3, 7), (40.0, 1000)])
def test_boundaries_are_the_distribution_function(scale: float, whole: int) -> None:
    table = negative_binomial_table(scale, whole)
    assert table.lowest == 0
    with workprec(300):
        decay, shape = mp.exp(-1 / mpf(scale)), mpf(1) / whole
        total = mpf(0)
        for k, boundary in enumerate(table.boundaries):
            total += mp.binomial(k + shape - 1, k) * (1 - decay) ** shape * decay**k
            assert abs(mpf(boundary) / mpf(2) ** 128 - total) < mpf(2) ** -126
        # All that is larger than the table's last value.
        assert 1 - total < mpf(2) ** -127


def test_the_decay_is_rounded_down_at_the_last_bit() -> None:
    with workprec(400):
        for scale in (2.0**-4, 0.3, 1.0, 17.0, 4096.0):
            exact = mp.exp(-1 / mpf(scale)) * mpf(2) ** 256
            assert 0 <= exact - decay_of(scale) < 2


@pytest.mark.parametrize(("scale", "whole"), [(0.7, 1), (2.0, 2), (2.0, 5)])
def test_a_whole_of_shares_is_discrete_laplace_noise(scale: float, whole: int) -> None:
    draws, decay = 200_000, math.exp(-1.0 / scale)
    law = PolyaNoise(scale, whole, whole)
    source = SeededRandom(7)
    total = np.sum([sample_share(law, draws, source.derive(number)) for number in range(whole)], axis=0)
    expected = {k: (1.0 - decay) / (1.0 + decay) * decay ** abs(k) for k in range(-6, 7)}
    for k, prob in expected.items():
        found = np.mean(total == k)
        assert abs(found - prob) < 5.0 * math.sqrt(prob / draws), k
    assert abs(np.var(total) / law.variance - 1.0) < 0.03


def test_more_shares_are_wider_and_one_is_narrower() -> None:
    law = PolyaNoise(4.0, whole=4, num_silos=4)
    assert math.isclose(per_silo(law, 8).variance, 2.0 * law.variance)
    one = sample_share(law, 200_000, SeededRandom(1))
    assert abs(np.var(one) / per_silo(law, 1).variance - 1.0) < 0.05


@given(variance=st.floats(0.05, 1e7), silos=st.integers(1, 50))
def test_a_law_has_the_variance_that_was_asked_for(variance: float, silos: int) -> None:
    law = law_for(NoiseFamily.DISCRETE_LAPLACE, variance=variance, num_silos=silos)
    assert variance <= law.variance <= variance * (1.0 + 1e-9)
    assert isinstance(law, PolyaNoise)
    assert law.whole == law.num_silos == silos


def test_adding_a_share_is_sampling_it() -> None:
    law, values = PolyaNoise(3.0, 2, 2), np.arange(1000)
    add_share(values, law, SeededRandom(5), workers=2)
    assert np.array_equal(values, np.arange(1000) + sample_share(law, 1000, SeededRandom(5)))


def test_the_tail_bound_holds_and_is_not_far_off() -> None:
    for whole, silos in ((1, 1), (3, 3), (3, 5), (3, 1)):
        law = PolyaNoise(5.0, whole, silos)
        shape = silos / whole
        exact = central_half_width(5.0, shape, 1.0 - 1e-6)
        assert exact <= sample_tail_bound(law, 1e-6) < 2.0 * exact


def test_the_middle_holds_what_it_says() -> None:
    decay = math.exp(-1.0 / 10.0)
    half = central_half_width(10.0, 1.0, 0.95)
    outside = [2.0 * decay ** (h + 1) / (1.0 + decay) for h in (half, half - 1)]
    assert outside[0] <= 0.05 < outside[1]
    # Many wholes of shares are nearly normal.
    wide = central_half_width(10.0, 60.0, 0.95)
    assert abs(wide / (1.96 * math.sqrt(PolyaNoise(10.0, 1, 60).variance)) - 1.0) < 0.01


def test_the_distance_grows_with_the_draws() -> None:
    assert sampler_tv(PolyaNoise(3.0, 2, 2), 1000) == 1000 * POLYA_TV


@pytest.mark.parametrize("scale", [0.06, 4097.0])
def test_a_scale_without_a_table_is_refused(scale: float) -> None:
    with pytest.raises(ConfigurationError, match=r"must be from 0\.0625 to 4096 units; got"):
        sample_share(PolyaNoise(scale, 1, 1), 3, SeededRandom(1))
