from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import ConfigurationError
from discreet.models.scattering import Scattering

VECTOR = Path(__file__).parents[2] / "vectors" / "scattering.json"


def test_agrees_with_kymatio() -> None:
    """Their filters are complex64 and use 3.1415 for π, which is worth 3e-5; ours are exact."""
    golden = json.loads(VECTOR.read_text())
    expected = np.array(golden["scattering"])
    got = Scattering()(np.array(golden["image"], dtype=np.float32)[None])[0]
    assert got.shape == expected.shape == (81, 7, 7)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=3e-6)
    # every channel carries signal, so that no channel agrees by being empty
    assert expected.max(axis=(1, 2)).min() > 1e-4


def test_an_image_does_not_see_its_neighbours() -> None:
    images = np.random.default_rng(0).random((300, 8, 8), dtype=np.float32)
    transform = Scattering()
    together, alone = transform(images), transform(images[299:])
    np.testing.assert_allclose(together[299:], alone, atol=1e-6)


def test_colours_are_transformed_one_by_one() -> None:
    images = np.random.default_rng(1).random((2, 3, 32, 32), dtype=np.float32)
    got = Scattering()(images)
    assert got.shape == (2, 243, 8, 8)
    np.testing.assert_allclose(got[:, 81:162], Scattering()(images[:, 1]), atol=1e-6)


def test_energy_does_not_grow() -> None:
    """The transform is a contraction from the zero image (Bruna and Mallat 2013, section 2.4)."""
    images = np.random.default_rng(2).random((4, 32, 32), dtype=np.float32) - np.float32(0.5)
    energy = 16 * np.square(Scattering()(images)).sum(axis=(1, 2, 3))
    assert (energy <= np.square(images).sum(axis=(1, 2))).all()


def test_a_constant_image_has_only_its_mean() -> None:
    got = Scattering()(np.full((1, 16, 16), 0.7, dtype=np.float32))[0]
    np.testing.assert_allclose(got[0], 0.7, atol=2e-3)
    assert np.abs(got[1:]).max() < 1e-3


@pytest.mark.parametrize("rotations", [0, 7])
def test_bad_rotations_are_refused(rotations: int) -> None:
    with pytest.raises(ConfigurationError):
        Scattering(rotations=rotations)


@pytest.mark.parametrize("shape", [(2, 30, 30), (2, 784)])
def test_shapes_that_do_not_fit_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ConfigurationError):
        Scattering()(np.zeros(shape, dtype=np.float32))


def test_deeper_transforms_have_the_stated_shape() -> None:
    transform = Scattering(depth=3, rotations=4)
    images = np.random.default_rng(3).random((1, 32, 32), dtype=np.float32)
    assert transform(images).shape[1:] == transform.output_shape((32, 32)) == (1 + 12 + 48, 4, 4)
