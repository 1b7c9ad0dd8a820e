"""Laws that hold for all parameters, and truths that no bound may fall below."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from discreet.accounting import Pld, Rdp, epsilon
from discreet.accounting.gdp import gaussian_epsilon
from discreet.privacy.events import (
    Composed,
    FixedSizeSampling,
    GaussianNoise,
    PoissonSampling,
    Release,
    Repeated,
    SampledChange,
)
from discreet.privacy.units import NeighboringRelation

STDDEV = st.floats(0.6, 5.0)
PROB = st.floats(0.005, 0.95)
COUNT = st.integers(1, 200)
# Near ε = 0 the grid, chosen relative to Chernoff's ε, may cost this much absolutely.
SLACK = 1e-3
LEVEL = st.sampled_from([1e-3, 1e-5, 1e-8])


def sampled(
    stddev: float, prob: float, count: int, change: SampledChange = SampledChange.ADDED_OR_REMOVED
) -> Repeated:
    return Repeated(Release(GaussianNoise(stddev), 1.0, 1, PoissonSampling(prob), change), count)


@settings(max_examples=15, deadline=None)
@given(STDDEV, PROB, COUNT, LEVEL)
def test_sampling_helps_and_replacing_hurts(stddev: float, prob: float, count: int, level: float) -> None:
    found = epsilon(sampled(stddev, prob, count), delta=level).epsilon
    everyone = gaussian_epsilon(math.sqrt(count) / stddev, level)
    assert found <= everyone * (1 + 2e-5) + SLACK
    replaced = epsilon(sampled(stddev, prob, count, SampledChange.REPLACED), delta=level).epsilon
    assert found <= replaced * (1 + 2e-5) + SLACK
    assert replaced <= gaussian_epsilon(2 * math.sqrt(count) / stddev, level) * (1 + 2e-5) + SLACK


@settings(max_examples=15, deadline=None)
@given(STDDEV, PROB, COUNT, LEVEL)
def test_renyi_is_above_the_loss_distribution(stddev: float, prob: float, count: int, level: float) -> None:
    event = sampled(stddev, prob, count)
    tight = epsilon(event, delta=level, accountant=Pld()).epsilon
    assert tight <= epsilon(event, delta=level, accountant=Rdp()).epsilon * (1 + 2e-5) + SLACK


@settings(max_examples=15, deadline=None)
@given(STDDEV, PROB, COUNT, LEVEL)
def test_never_below_a_simple_attack(stddev: float, prob: float, count: int, level: float) -> None:
    """Threshold attacks on one release, whose errors are known in closed form."""
    bound = epsilon(sampled(stddev, prob, 1), delta=level).epsilon
    for cut in np.linspace(-2, 8, 41):
        false_positive = norm.sf(cut)
        true_positive = (1 - prob) * norm.sf(cut) + prob * norm.sf(cut - 1 / stddev)
        assert true_positive - math.exp(bound) * false_positive <= level * (1 + 1e-9)
    bound = epsilon(sampled(stddev, prob, count), delta=level).epsilon
    # Of all releases an attacker may look at one.
    alone = epsilon(sampled(stddev, prob, 1), delta=level).epsilon
    assert bound >= alone * (1 - 2e-5) - SLACK


@settings(max_examples=10, deadline=None)
@given(st.floats(0.8, 3.0), st.floats(0.1, 0.9))
def test_two_releases_against_a_grid_of_losses(stddev: float, prob: float) -> None:
    """δ of two steps by summing over a fine grid of pairs of outcomes."""
    x = np.linspace(-8, 9, 1501)
    p = ((1 - prob) * norm.pdf(x) + prob * norm.pdf(x, 1 / stddev)) * (x[1] - x[0])
    q = norm.pdf(x) * (x[1] - x[0])
    loss = np.log(p / q)
    bound = epsilon(sampled(stddev, prob, 2), delta=1e-4).epsilon
    keep = p > 1e-14
    joint = np.add.outer(loss[keep], loss[keep])
    true = float((np.outer(p[keep], p[keep]) * -np.expm1(np.minimum(0, bound - joint))).sum())
    assert true <= 1e-4 * (1 + 1e-3)
    assert true >= 1e-4 * (1 - 2e-2) or bound == 0.0


@settings(max_examples=10, deadline=None)
@given(STDDEV, st.integers(1, 99), st.integers(1, 60))
def test_fixed_size_between_poisson_and_everyone(stddev: float, size: int, count: int) -> None:
    relation = NeighboringRelation.REPLACE_ONE
    event = Repeated(Release(GaussianNoise(stddev), 1.0, 1, FixedSizeSampling(size, 100)), count)
    found = epsilon(event, delta=1e-5, neighboring=relation).epsilon
    assert found <= gaussian_epsilon(2 * math.sqrt(count) / stddev, 1e-5) * (1 + 2e-5) + SLACK
    # One replaced record of a fixed batch, seen alone: q·δ of the Gaussian at the amplified ε.
    assert found >= epsilon(event.event, delta=1e-5, neighboring=relation).epsilon * (1 - 2e-5) - SLACK


@settings(max_examples=10, deadline=None)
@given(STDDEV, PROB, st.integers(1, 40), st.integers(1, 40))
def test_order_of_composition_does_not_matter(stddev: float, prob: float, one: int, two: int) -> None:
    first, second = sampled(stddev, prob, one), Repeated(Release(GaussianNoise(4.0), 1.0, 1), two)
    there = epsilon(Composed((first, second)), delta=1e-5).epsilon
    back = epsilon(Composed((second, first)), delta=1e-5).epsilon
    assert math.isclose(there, back, rel_tol=1e-9)
    assert (
        there
        >= max(epsilon(first, delta=1e-5).epsilon, epsilon(second, delta=1e-5).epsilon) * (1 - 2e-5) - SLACK
    )


@settings(max_examples=10, deadline=None)
@given(STDDEV, st.floats(0.01, 0.5), COUNT)
def test_monotone_in_noise_and_rate(stddev: float, prob: float, count: int) -> None:
    base = epsilon(sampled(stddev, prob, count), delta=1e-5).epsilon
    assert epsilon(sampled(stddev * 1.05, prob, count), delta=1e-5).epsilon <= base * (1 + 2e-5) + SLACK
    assert epsilon(sampled(stddev, prob * 1.05, count), delta=1e-5).epsilon >= base * (1 - 2e-5) - SLACK
    assert epsilon(sampled(stddev, prob, count + 1), delta=1e-5).epsilon >= base * (1 - 2e-5) - SLACK
