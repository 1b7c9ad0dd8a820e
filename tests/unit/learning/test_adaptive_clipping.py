from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from discreet.errors import ConfigurationError, PrivacyViolation
from discreet.kinds import Automatic, ClippedUpdate, QuantileClipped, QuantileClipping, SingleStep
from discreet.kinds.float_error import MAX_NORM, MIN_NORM


def contribution(rule: QuantileClipping, units: np.ndarray, norm: float) -> np.ndarray:
    """What units with these updates, one a row, contribute together."""
    norms = np.linalg.norm(units, axis=1)
    clipped = np.minimum(1.0, norm / np.maximum(norms, 1e-300)) @ units
    return rule.joined(clipped, norm, within=int((norms <= norm).sum()), units=len(units))


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
    rule = QuantileClipping(quantile=0.5, initial=1.0, weight=weight)
    difference = contribution(rule, units, norm) - contribution(rule, units[:-1], norm)
    assert np.linalg.norm(difference) <= rule.l2_sensitivity()


def test_the_sensitivity_is_reached_by_a_unit_on_the_boundary() -> None:
    rule = QuantileClipping(quantile=0.5, initial=1.0, weight=0.5)
    reached = np.linalg.norm(contribution(rule, np.array([[0.0, 2.0]]), 2.0))
    assert reached == pytest.approx(math.sqrt(1 + 0.25 / 4), rel=1e-12)
    assert rule.l2_sensitivity() == pytest.approx(reached, rel=2e-3)


def test_the_norm_finds_the_quantile_of_the_units() -> None:
    """200 noisy rounds on 1,000 log-normal norms; the true 0.7 quantile is exp(0.5244)."""
    rng = np.random.default_rng(0)
    rule = QuantileClipping(initial=50.0, quantile=0.7)
    units = rng.lognormal(size=(1000, 1)) * rng.choice([-1.0, 1.0], (1000, 1))
    norm, visited = rule.initial, []
    for _ in range(200):
        released = contribution(rule, units, norm)[-1] + rng.normal(scale=5.0)
        norm = rule.next_norm(norm, released, 1000)
        visited.append(norm)
    expected = np.quantile(np.abs(units), 0.7)
    assert np.mean(visited[100:]) == pytest.approx(expected, rel=0.03)


def test_noise_cannot_throw_the_norm_far() -> None:
    rule = QuantileClipping(initial=1.0, quantile=0.5, learning_rate=0.2)
    assert rule.next_norm(1.0, 1e9, 10) == pytest.approx(math.exp(-0.1))
    assert rule.next_norm(1.0, -1e9, 10) == pytest.approx(math.exp(0.1))


def test_units_that_are_missing_count_as_half_within() -> None:
    """So the median is found whatever the public number of units is; other quantiles need a true one."""
    rule = QuantileClipping(initial=1.0, quantile=0.5)
    assert rule.next_norm(3.0, rule.weight * (40 - 80 / 2), expected_units=1000) == 3.0
    higher = QuantileClipping(initial=1.0, quantile=0.75)
    assert higher.next_norm(3.0, higher.weight * (75 - 100 / 2), expected_units=100) == pytest.approx(3.0)
    assert higher.next_norm(3.0, higher.weight * (75 - 100 / 2), expected_units=200) > 3.0


def test_the_norm_stays_where_rounding_is_bounded() -> None:
    rule = QuantileClipping(quantile=0.5, initial=1.0)
    assert rule.next_norm(MIN_NORM, 1e9, 1.0) == MIN_NORM
    assert rule.next_norm(MAX_NORM, -1e9, 1.0) == MAX_NORM
    training = QuantileClipped(SingleStep(1.0), rule)
    for norm in (0.0, -1.0, math.nan, math.inf, MIN_NORM / 2, MAX_NORM * 2):
        with pytest.raises(PrivacyViolation, match="between"):
            training.at(norm)


def test_another_norm_leaves_room_for_as_many_records() -> None:
    training = QuantileClipped(
        SingleStep(2.0, projection_radius=14.0), QuantileClipping(quantile=0.5, initial=2.0)
    ).at(0.5)
    assert training.kind == SingleStep(0.5, projection_radius=3.5)
    assert training.update_bound(100) == pytest.approx(7.0 * training.l2_sensitivity())
    assert training.update_bound(3) == pytest.approx(3.0 * training.l2_sensitivity())
    client = QuantileClipped(ClippedUpdate(2.0, 0.1, 5), QuantileClipping(quantile=0.5, initial=2.0)).at(0.5)
    assert client.update_bound(100) == client.l2_sensitivity()


def test_kinds_that_say_nothing_about_the_norms_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="'project_steps' must be false"):
        QuantileClipped(
            ClippedUpdate(1.0, 0.1, 5, project_steps=True), QuantileClipping(quantile=0.5, initial=1.0)
        )
    with pytest.raises(ConfigurationError, match="automatic clipping scales every gradient"):
        QuantileClipped(SingleStep(1.0, style=Automatic()), QuantileClipping(quantile=0.5, initial=1.0))


@pytest.mark.parametrize(
    "changes",
    [
        {"initial": 0.0},
        {"initial": 1e-30},
        {"quantile": 1.0},
        {"weight": float("nan")},
        {"learning_rate": -1.0},
    ],
)
def test_numbers_out_of_range_are_refused(changes: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        QuantileClipping(**({"quantile": 0.5, "initial": 1.0} | changes))
