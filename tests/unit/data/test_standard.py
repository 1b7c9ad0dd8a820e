"""Standardising is a public map of one record, whatever was announced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.data.norm import scaled_with_constant
from discreet.data.standard import FARTHEST, Place, Standard, unscaled

PLACES = (Place(0), Place(1, missing=2))
BOUND = 1.0
FORGED: dict[str, Any] = {
    "honest": [[0.2, -0.9], [0.4, 0.05]],
    "no scale": [[0.0, 0.0], [0.0, 0.0]],
    "negative": [[-7.0, 7.0], [-1.0, -1e300]],
    "huge": [[1e300, -1e300], [1e300, 1e300]],
    "tiny": [[0.5, 0.5], [5e-324, 1e-300]],
    "not numbers": [[np.nan, np.inf], [np.nan, -np.inf]],
}


def features(count: int = 40) -> Any:
    """Two numbers, a mark of a missing second one, a text; at the ends of their ranges too."""
    draws = np.random.default_rng(0)
    raw = draws.uniform(-1, 1, (count, 4))
    raw[:, 2] = draws.integers(0, 2, count)
    raw[raw[:, 2] > 0, 1] = 0.0
    raw[:4] = [[1, 1, 0, 1], [-1, -1, 0, -1], [0, 0, 1, 0], [0, 0, 0, 0]]
    return scaled_with_constant(raw, BOUND)


def standard(name: str) -> Standard:
    return Standard.announced(PLACES, np.array(FORGED[name]), floor=0.02, norm_bound=BOUND)


@pytest.mark.parametrize("name", FORGED)
def test_no_announced_value_makes_a_record_longer_than_the_bound(name: str) -> None:
    found = standard(name).features(features())
    assert found.dtype == np.float32
    assert np.isfinite(found).all()
    assert (np.square(found, dtype=np.float64).sum(axis=1) <= BOUND**2).all()
    assert (found[:, -1] > 0).all()


@pytest.mark.parametrize("name", FORGED)
def test_a_record_is_the_same_bits_among_any_others(name: str) -> None:
    whole, rule = features(), standard(name)
    found = rule.features(whole)
    for kept in (slice(0, 1), slice(3, 7), slice(None, None, -1), slice(5, 40, 3)):
        assert rule.features(whole[kept]).tobytes() == found[kept].tobytes()
    again = rule.features(np.asfortranarray(whole))
    assert again.tobytes() == found.tobytes()


def test_numbers_are_centred_scaled_and_cut_off() -> None:
    raw = np.array([[0.4, -0.85, 0, 1], [1.0, -1.0, 0, 0], [0.2, 0.0, 1, 0]])
    found = unscaled(standard("honest").features(scaled_with_constant(raw, BOUND)))
    expected = [[0.5, 1.0, 0, 1, 1], [FARTHEST, -FARTHEST, 0, 0, 1], [0.0, 0.0, 1, 0, 1]]
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_no_records_are_no_error() -> None:
    assert standard("honest").features(features()[:0]).shape == (0, 5)


def test_as_many_values_as_numbers_must_be_announced() -> None:
    with pytest.raises(ValueError, match="two values must be announced for each of 2 numbers"):
        Standard.announced(PLACES, np.zeros((2, 3)), floor=0.02, norm_bound=BOUND)


def test_a_ramp_is_what_becomes_of_a_number() -> None:
    rule = standard("honest")
    ramp = rule.ramp(1)
    assert ramp is not None
    assert rule.ramp(3) is None
    values = np.linspace(-1, 1, 21)
    raw = np.zeros((21, 4))
    raw[:, 1] = values
    found = unscaled(rule.features(scaled_with_constant(raw, BOUND)))[:, 1]
    np.testing.assert_allclose(found, [ramp.standardised(value) for value in values], atol=1e-4)
    assert ramp.corners == (-1.0, *sorted(ramp.corners[1:-1]), 1.0)
