from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from discreet.models.features import centred_pixels, normalised_scattering
from discreet.models.scattering import Scattering


@pytest.mark.parametrize("feature_map", [centred_pixels, normalised_scattering])
def test_a_record_does_not_see_its_neighbours(feature_map: Callable[..., Any]) -> None:
    images = np.random.default_rng(0).random((6, 28, 28), dtype=np.float32)
    np.testing.assert_allclose(feature_map(images)[2:3], feature_map(images[2:3]), atol=1e-5)


def test_centred_pixels_have_mean_zero() -> None:
    images = np.random.default_rng(1).random((4, 3, 8, 8), dtype=np.float32)
    got = centred_pixels(images)
    assert got.shape == (4, 192)
    np.testing.assert_allclose(got.mean(axis=1), 0.0, atol=1e-6)
    np.testing.assert_allclose(got[0, 1] - got[0, 0], np.diff(np.sqrt(images[0].ravel()[:2]))[0], atol=1e-6)


def test_groups_of_three_channels_are_normalised() -> None:
    """(s - mean)/√(variance + 1e-5) over three channels and all positions of one image."""
    images = np.random.default_rng(2).random((2, 28, 28), dtype=np.float32)
    groups = Scattering()(images).reshape(2, 27, 3 * 49)
    spread = np.sqrt(groups.var(axis=2, keepdims=True) + 1e-5)
    expected = (groups - groups.mean(axis=2, keepdims=True)) / spread
    np.testing.assert_allclose(normalised_scattering(images), expected.reshape(2, -1), rtol=1e-3, atol=1e-4)
