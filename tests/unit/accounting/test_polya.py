"""Shares of discrete Laplace noise cost what Theorem 7 says, and no less is claimed of them."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting import Accountant, Pld, Rdp, delta, epsilon
from discreet.accounting.odometer import AdaptiveFilter, Composition
from discreet.accounting.polya import pure_epsilon, response_rdp, unit_loss
from discreet.arrays import Floats
from discreet.errors import UnsupportedAnalysisError
from discreet.privacy.events import (
    Composed,
    GaussianNoise,
    PoissonSampling,
    PolyaNoise,
    Release,
    Repeated,
    SampledChange,
    StatisticalDistance,
)
from discreet.privacy.units import NeighboringRelation

ADD_REMOVE, REPLACE_ONE = NeighboringRelation.ADD_REMOVE, NeighboringRelation.REPLACE_ONE


def law(noise: PolyaNoise, reach: int = 400) -> Floats:
    """Returns the probabilities of −reach, …, reach by adding up shares one after the other."""
    decay, shape = math.exp(-1.0 / noise.scale), 1.0 / noise.whole
    ks = np.arange(4 * reach)
    single = np.cumprod(np.concatenate([[1.0], (ks + shape) / (ks + 1.0) * decay]))
    single /= single.sum()
    one = np.convolve(single, single[::-1])
    middle = len(single) - 1
    one = one[middle - 2 * reach : middle + 2 * reach + 1]
    found = one
    for _ in range(noise.num_silos - 1):
        found = np.convolve(found, one, mode="same")
    return found[reach : 3 * reach + 1]


@pytest.mark.parametrize(("whole", "silos"), [(1, 1), (3, 3), (3, 1), (3, 2), (10, 1), (2, 3)])
def test_no_shift_costs_more_than_the_bound(whole: int, silos: int) -> None:
    noise = PolyaNoise(2.0, whole, silos)
    found, middle = law(noise), 400
    near = found[middle - 30 : middle + 31]
    steps = [abs(math.log(one / other)) for one, other in pairwise(near)]
    assert max(steps) <= unit_loss(noise) * (1.0 + 1e-6)
    if silos <= whole:
        assert max(steps) >= unit_loss(noise) * (1.0 - 1e-3)
    for shift in (2, 5):
        ratios = np.abs(np.log(near[shift:] / near[:-shift]))
        assert ratios.max() <= shift * unit_loss(noise) * (1.0 + 1e-6)


def test_a_share_planned_for_everybody_costs_more_than_one_for_the_honest() -> None:
    honest, everybody = PolyaNoise(2.0, whole=3, num_silos=3), PolyaNoise(2.0, whole=4, num_silos=3)
    assert unit_loss(honest) == 0.5
    assert unit_loss(everybody) > 0.55


@given(parts=st.lists(st.integers(-3, 3), min_size=1, max_size=4).filter(any))
def test_the_l1_norm_of_integers_is_at_most_the_squared_length(parts: list[int]) -> None:
    length = math.sqrt(sum(part * part for part in parts))
    claimed = pure_epsilon(Release(PolyaNoise(1.0, 1, 1), length, dimension=4), ADD_REMOVE)
    assert claimed >= sum(abs(part) for part in parts)


@pytest.mark.parametrize("questions", range(1, 40))
def test_a_one_in_each_of_several_questions_costs_as_many_units(questions: int) -> None:
    release = Release(PolyaNoise(1.0, 1, 1), math.sqrt(questions), dimension=100)
    assert pure_epsilon(release, ADD_REMOVE) == questions
    assert pure_epsilon(release, REPLACE_ONE) == 2 * questions
    replaced = Release(release.noise, release.l2_sensitivity, 100, change=SampledChange.REPLACED)
    assert pure_epsilon(replaced, ADD_REMOVE) == 2 * questions


@pytest.mark.parametrize("accountant", [Pld(), Rdp()])
def test_epsilon_is_never_above_the_pure_one(accountant: Accountant) -> None:
    release = Release(PolyaNoise(2.0, 3, 3), 1.0, dimension=5)
    error = StatisticalDistance(5 * 2.0**-104, "the sampler differs from its law")
    found = epsilon(Composed((release, error)), delta=1e-9, accountant=accountant)
    assert 0.49 < found.epsilon <= 0.5
    # A sampler that is off by more than δ proves nothing.
    off = Composed((release, StatisticalDistance(1e-8, "the sampler differs from its law")))
    assert math.isinf(epsilon(off, delta=1e-9, accountant=accountant).epsilon)


@pytest.mark.parametrize("count", [1, 4, 30])
def test_it_covers_the_exact_law_of_one_number(count: int) -> None:
    exact = privacy_loss_distribution.from_discrete_laplace_mechanism(0.5, sensitivity=1).self_compose(count)
    event = Repeated(Release(PolyaNoise(2.0, 3, 3), 1.0, dimension=5), count)
    for at in (1e-3, 1e-6, 1e-9):
        found = epsilon(event, delta=at).epsilon
        assert exact.get_epsilon_for_delta(at) <= found * (1.0 + 1e-4) + 1e-9
        assert found <= 0.5 * count
    # By composition of loss distributions, far below the sum.
    if count == 30:
        assert epsilon(event, delta=1e-6).epsilon < 0.94 * 15.0


def test_delta_vanishes_at_the_pure_epsilon() -> None:
    release = Release(PolyaNoise(2.0, 3, 3), 1.0, dimension=5)
    assert delta(release, epsilon=0.5).delta == 0.0
    assert delta(release, epsilon=0.4).delta > 0.01


def test_it_composes_with_gaussian_noise() -> None:
    laplace, gaussian = Release(PolyaNoise(2.0, 3, 3), 1.0, 5), Release(GaussianNoise(4.0), 1.0, 5)
    together = epsilon(Composed((laplace, gaussian)), delta=1e-6).epsilon
    alone = epsilon(gaussian, delta=1e-6).epsilon
    assert alone < together <= alone + 0.5 + 1e-6


def test_randomised_response_has_its_renyi_divergence() -> None:
    told = math.exp(1.2) / (1.0 + math.exp(1.2))
    for order in (1.5, 2.0, 17.0, 300.0):
        exact = math.log(told**order * (1 - told) ** (1 - order) + (1 - told) ** order * told ** (1 - order))
        assert math.isclose(response_rdp(np.array([order]), 1.2)[0], exact / (order - 1.0), rel_tol=1e-9)
    assert response_rdp(np.array([2.0]), 2000.0)[0] <= 2000.0


def test_sampling_is_refused() -> None:
    sampled = Release(PolyaNoise(2.0, 3, 3), 1.0, 5, PoissonSampling(0.1))
    with pytest.raises(UnsupportedAnalysisError, match="every unit takes part"):
        epsilon(sampled, delta=1e-6)


def test_filters_take_it_by_renyi_divergence_alone() -> None:
    release = Release(PolyaNoise(2.0, 3, 3), 1.0, 5)
    assert AdaptiveFilter(3.0, 1e-5).cost(release).divergence > 0.0
    with pytest.raises(UnsupportedAnalysisError, match="discrete Laplace noise"):
        AdaptiveFilter(3.0, 1e-5, composition=Composition.GAUSSIAN).cost(release)
