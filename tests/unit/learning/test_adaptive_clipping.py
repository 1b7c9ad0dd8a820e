from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ConfigurationError
from discreet.learning.adaptive_clipping import QuantileClipping


@given(
    norm=st.floats(1e-3, 1e3),
    weight=st.floats(0.01, 3.0),
    scale=st.floats(0.0, 1e4),
    seed=st.integers(0, 2**32 - 1),
)
def test_one_unit_moves_the_sum_by_at_most_the_sensitivity(
    norm: float, weight: float, scale: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    units = rng.normal(size=(5, 3)) * scale
    rule = QuantileClipping(1.0, weight=weight)
    difference = rule.contribution(units, norm) - rule.contribution(units[:-1], norm)
    assert np.linalg.norm(difference) <= rule.l2_sensitivity()


def test_the_sensitivity_is_reached_by_a_unit_on_the_boundary() -> None:
    rule = QuantileClipping(1.0, weight=0.5)
    reached = np.linalg.norm(rule.contribution(np.array([[0.0, 2.0]]), 2.0))
    assert reached == pytest.approx(math.sqrt(1 + 0.25 / 4), rel=1e-12)
    assert rule.l2_sensitivity() == pytest.approx(reached, rel=2e-3)


def test_the_norm_finds_the_quantile_of_the_units() -> None:
    """200 noisy rounds on 1,000 log-normal norms; the true 0.7 quantile is exp(0.5244)."""
    rng = np.random.default_rng(0)
    rule = QuantileClipping(50.0, quantile=0.7)
    units = rng.lognormal(size=(1000, 1)) * rng.choice([-1.0, 1.0], (1000, 1))
    norm, visited = rule.initial_norm, []
    for _ in range(200):
        released = rule.contribution(units, norm)[-1] + rng.normal(scale=5.0)
        norm = rule.next_norm(norm, released, 1000)
        visited.append(norm)
    expected = np.quantile(np.abs(units), 0.7)
    assert np.mean(visited[100:]) == pytest.approx(expected, rel=0.03)


def test_noise_cannot_throw_the_norm_far() -> None:
    rule = QuantileClipping(1.0, quantile=0.5, learning_rate=0.2)
    assert rule.next_norm(1.0, 1e9, 10) == pytest.approx(math.exp(-0.1))
    assert rule.next_norm(1.0, -1e9, 10) == pytest.approx(math.exp(0.1))


@pytest.mark.parametrize(
    "changes",
    [{"initial_norm": 0.0}, {"quantile": 1.0}, {"weight": float("nan")}, {"learning_rate": -1.0}],
)
def test_numbers_out_of_range_are_refused(changes: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError):
        QuantileClipping(**({"initial_norm": 1.0} | changes))
