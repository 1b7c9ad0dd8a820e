"""Dominating pairs against the hockey-stick divergences that they must dominate, by direct integration."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from discreet.accounting.pairs import FixedSizePair, Mixture, MixturePair, SampledGaussianPair
from discreet.accounting.polya import AtomicPair
from discreet.arrays import Floats
from discreet.errors import ConfigurationError

EDGES: Floats = np.asarray(np.arange(-400, 401) * 0.02)


def hockey_stick(
    pair: FixedSizePair | MixturePair | SampledGaussianPair,
    epsilon: float,
    edges: Floats = EDGES,
) -> float:
    """δ(ε) of a pair from its cell masses, ε on an edge: Σ over cells above of P − e^ε Q."""
    upper, lower = pair.cell_masses(edges)
    start = int(np.argmin(abs(edges - epsilon))) + 1
    return float(np.sum(upper[start:]) - math.exp(epsilon) * np.sum(lower[start:]))


def density(points: Floats, shift: Floats) -> Floats:
    return np.exp(-((points - shift) ** 2).sum(-1) / 2) / (2 * np.pi)


PLANE = np.stack(np.meshgrid(np.linspace(-9, 9, 601), np.linspace(-9, 9, 601)), axis=-1)
AREA = (18 / 600) ** 2


@settings(max_examples=12, deadline=None)
@given(
    prob=st.floats(0.05, 0.95),
    radius=st.floats(0.0, 1.0),
    angles=st.tuples(st.floats(0, 6.28), st.floats(0, 6.28)),
    epsilon=st.sampled_from([-0.6, -0.2, 0.0, 0.2, 0.6]),
)
def test_replaced_contribution_in_the_plane_is_dominated(
    prob: float, radius: float, angles: tuple[float, float], epsilon: float
) -> None:
    # a has the full norm μ = 1.5, b any smaller one, in any direction.
    a = 1.5 * np.array([math.cos(angles[0]), math.sin(angles[0])])
    b = 1.5 * radius * np.array([math.cos(angles[1]), math.sin(angles[1])])
    noise = density(PLANE, np.zeros(2))
    p = (1 - prob) * noise + prob * density(PLANE, a)
    q = (1 - prob) * noise + prob * density(PLANE, b)
    true = float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * AREA)
    assert true <= hockey_stick(SampledGaussianPair(1.5, prob, prob), epsilon) + 1e-6


@pytest.mark.parametrize(("upper", "lower"), [(0.2, 0.0), (0.0, 0.2), (0.2, 0.2)])
def test_closed_form_thresholds_are_where_the_loss_is(upper: float, lower: float) -> None:
    pair = SampledGaussianPair(1.3, upper, lower)
    low, high = pair.loss_range(1e-9)
    losses = np.linspace(low, high, 50)[1:-1]
    x = pair.threshold(losses)
    assert np.allclose(pair.upper.log_density(x) - pair.lower.log_density(x), losses, atol=1e-9)


@pytest.mark.parametrize(("upper", "lower"), [(0.2, 0.0), (0.0, 0.2), (0.2, 0.2)])
def test_generic_mixture_agrees_with_the_closed_form(upper: float, lower: float) -> None:
    special = SampledGaussianPair(1.3, upper, lower)
    generic = MixturePair(special.upper, special.lower)
    for one, other in zip(special.cell_masses(EDGES), generic.cell_masses(EDGES), strict=True):
        assert np.allclose(one, other, atol=1e-12)


def test_one_step_hockey_stick_is_exact() -> None:
    # Removing: P = 0.9 N(0) + 0.1 N(1), Q = N(0); δ(0.5) by analytic integration beyond the threshold.
    pair = SampledGaussianPair(1.0, 0.1, 0.0)
    assert hockey_stick(pair, 0.5) == pytest.approx(0.0020325369203404, rel=1e-9)


def test_group_of_poisson_sampled_units_is_dominated() -> None:
    # Three units, each sampled with 0.3, all pointing the same way: the mixture itself, on a fine line.
    weights = tuple(float(binom.pmf(k, 3, 0.3)) for k in range(4))
    pair = MixturePair(Mixture(weights, (0.0, 0.8, 1.6, 2.4)), Mixture((1.0,), (0.0,)))
    x = np.linspace(-12, 14, 200_001)
    p = sum(w * np.exp(-((x - 0.8 * k) ** 2) / 2) for k, w in enumerate(weights)) / math.sqrt(2 * math.pi)
    q = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    for epsilon in (-0.4, 0.0, 1.0):
        direct = float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * (x[1] - x[0]))
        assert hockey_stick(pair, epsilon) == pytest.approx(direct, abs=1e-7)


@pytest.mark.parametrize("epsilon", [-1.0, -0.2, 0.0, 0.2, 1.0])
def test_fixed_size_dominates_an_exhaustive_example(epsilon: float) -> None:
    # Two of three records drawn, sums of ±0.5, one record replaced by its negative: μ = 1 when it is drawn.
    x = np.linspace(-10, 10, 40_001)
    others = (0.5, -0.5)

    def law(record: float) -> Floats:
        values = [sum(pair) for pair in itertools.combinations((record, *others), 2)]
        return np.sum([np.exp(-((x - v) ** 2) / 2) for v in values], axis=0) / (3 * math.sqrt(2 * math.pi))

    true = float(np.maximum(law(0.5) - math.exp(epsilon) * law(-0.5), 0).sum() * (x[1] - x[0]))
    assert true <= hockey_stick(FixedSizePair(1.0, 2 / 3), epsilon) + 1e-9


@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.2])
def test_fixed_size_is_the_subsampling_bound(epsilon: float) -> None:
    # Balle, Barthe, Gaboardi (2018), Theorem 9: q·δ at 1 + (e^ε − 1)/q.
    q, mu = 0.3, 1.4
    base = SampledGaussianPair(mu, 1.0, 0.0)
    inner = math.log1p(math.expm1(epsilon) / q)
    edges = np.unique(np.append(EDGES, inner))
    expected = q * hockey_stick(base, inner, edges)
    assert hockey_stick(FixedSizePair(mu, q), epsilon) == pytest.approx(expected, rel=1e-9)


def test_malformed_pairs_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="sum to 1"):
        Mixture((0.5, 0.4), (0.0, 1.0))
    with pytest.raises(ConfigurationError, match="upper means"):
        MixturePair(Mixture((1.0,), (-1.0,)), Mixture((1.0,), (0.0,)))
    with pytest.raises(ConfigurationError, match="sum"):
        AtomicPair((0.0,), (0.5,))
    with pytest.raises(ConfigurationError, match="contain 0"):
        FixedSizePair(1.0, 0.5).cell_masses(np.array([-0.3, 0.7]))
