from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import ConfigurationError
from discreet.privacy.events import FixedSizeSampling, NoSampling, PoissonSampling
from discreet.randomness import SeededRandom
from discreet.sampling import FixedSize, Poisson


def test_each_sampler_states_its_own_event() -> None:
    assert Poisson(0.25).event() == PoissonSampling(0.25)
    assert Poisson(1.0).event() == NoSampling()
    assert FixedSize(3, 10).event() == FixedSizeSampling(3, 10)


@pytest.mark.parametrize("prob", [0.0, -0.1, 1.5, float("nan")])
def test_poisson_refuses_what_is_no_probability(prob: float) -> None:
    with pytest.raises(ConfigurationError):
        Poisson(prob)


def test_poisson_counts_are_binomial_and_units_are_independent() -> None:
    """2,000 draws of 50 units: mean, variance and pair correlation within 5 standard errors (< 2e-6)."""
    source, sampler = SeededRandom(11), Poisson(0.3)
    taken = np.zeros((2000, 50))
    for draw in taken:
        draw[sampler.draw(50, source)] = 1.0
    counts = taken.sum(axis=1)
    assert abs(counts.mean() - 15.0) < 5 * np.sqrt(10.5 / 2000)
    assert abs(counts.var() - 10.5) < 5 * 10.5 * np.sqrt(2 / 2000)
    correlation = np.corrcoef(taken[:, 0], taken[:, 1])[0, 1]
    assert abs(correlation) < 5 / np.sqrt(2000)


def test_empty_draws_are_legal() -> None:
    assert len(Poisson(1e-9).draw(100, SeededRandom(0))) == 0
    assert len(Poisson(0.5).draw(0, SeededRandom(0))) == 0


def test_fixed_size_draws_distinct_units_uniformly() -> None:
    """Each of 10 units appears in 3 of 10 draws; 4,000 draws, 5 standard errors a unit (< 1e-5 in all)."""
    source, sampler = SeededRandom(12), FixedSize(3, 10)
    hits = np.zeros(10)
    for _ in range(4000):
        drawn = sampler.draw(10, source)
        assert len(np.unique(drawn)) == 3
        hits[drawn] += 1
    assert np.abs(hits / 4000 - 0.3).max() < 5 * np.sqrt(0.21 / 4000)


def test_fixed_size_refuses_another_population_than_it_accounts_for() -> None:
    with pytest.raises(ConfigurationError, match="planned for at most 10 units; got 11"):
        FixedSize(3, 10).draw(11, SeededRandom(0))


def test_fixed_size_draws_places_and_the_empty_ones_contribute_nothing() -> None:
    """A unit enters with probability sample_size / population, however many units there are."""
    source, sampler, hits = SeededRandom(5), FixedSize(3, 10), np.zeros(4)
    sizes = set()
    for _ in range(4000):
        drawn = sampler.draw(4, source)
        sizes.add(len(drawn))
        hits[drawn] += 1
    assert sizes == {0, 1, 2, 3}
    # Four binomial shares of 4000: five standard deviations, false alarm about 2e-6.
    assert np.abs(hits / 4000 - 0.3).max() < 5 * np.sqrt(0.21 / 4000)
    assert len(sampler.draw(0, source)) == 0
