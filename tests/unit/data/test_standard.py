"""Standardising is a public map of one record, whatever was announced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.data.norm import scaled_with_constant
from discreet.data.standard import FARTHEST, Place, Standard, unscaled

PLACES = (Place(0), Place(1, missing=2))
BOUND = 1.0
HONEST = [[0.2, -0.9], [0.4, 0.05]]


def features(count: int = 40) -> Any:
    """Two numbers, a mark of a missing second one, a text; at the ends of their ranges too."""
    draws = np.random.default_rng(0)
    raw = draws.uniform(-1, 1, (count, 4))
    raw[:, 2] = draws.integers(0, 2, count)
    raw[raw[:, 2] > 0, 1] = 0.0
    raw[:4] = [[1, 1, 0, 1], [-1, -1, 0, -1], [0, 0, 1, 0], [0, 0, 0, 0]]
    return scaled_with_constant(raw, BOUND)


def standard() -> Standard:
    return Standard.announced(PLACES, np.array(HONEST), floor=0.02, norm_bound=BOUND)


def test_numbers_are_centred_scaled_and_cut_off() -> None:
    raw = np.array([[0.4, -0.85, 0, 1], [1.0, -1.0, 0, 0], [0.2, 0.0, 1, 0]])
    found = unscaled(standard().features(scaled_with_constant(raw, BOUND)))
    expected = [[0.5, 1.0, 0, 1, 1], [FARTHEST, -FARTHEST, 0, 0, 1], [0.0, 0.0, 1, 0, 1]]
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_no_records_are_no_error() -> None:
    assert standard().features(features()[:0]).shape == (0, 5)


def test_as_many_values_as_numbers_must_be_announced() -> None:
    with pytest.raises(ValueError, match="two values must be announced for each of 2 numbers"):
        Standard.announced(PLACES, np.zeros((2, 3)), floor=0.02, norm_bound=BOUND)


def test_a_ramp_is_what_becomes_of_a_number() -> None:
    rule = standard()
    ramp = rule.ramp(1)
    assert ramp is not None
    assert rule.ramp(3) is None
    values = np.linspace(-1, 1, 21)
    raw = np.zeros((21, 4))
    raw[:, 1] = values
    found = unscaled(rule.features(scaled_with_constant(raw, BOUND)))[:, 1]
    np.testing.assert_allclose(found, [ramp.standardised(value) for value in values], atol=1e-4)
    assert ramp.corners == (-1.0, *sorted(ramp.corners[1:-1]), 1.0)
