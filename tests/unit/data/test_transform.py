"""Feature maps on a federation: bounded, one record at a time, and what a plan needs to know of them."""

import numpy as np
import pytest

from discreet.data import Federation, Records, Silo
from discreet.data.transform import mapped
from discreet.models.features import FeatureMap, centred_pixels, normalised_scattering


def federation(images: np.ndarray) -> Federation:
    labels = np.arange(len(images)) % 2
    records = Records(images.astype(np.float32), labels)
    nothing = Records(images[:0].astype(np.float32), labels[:0])
    return Federation("images", (Silo("a", records, nothing),), 2, images.shape[1:])


@pytest.mark.parametrize(
    ("feature_map", "width"), [(normalised_scattering, 81 * 7 * 7 + 1), (centred_pixels, 28 * 28 + 1)]
)
def test_features_are_bounded_and_their_shape_is_public(feature_map: FeatureMap, width: int) -> None:
    images = np.random.default_rng(0).random((6, 28, 28))
    made = mapped(federation(images), feature_map, 2.0)
    norms = np.linalg.norm(made.silos[0].train.features.astype(np.float64), axis=1)
    assert made.feature_shape == (width,)
    assert made.silos[0].test.features.shape == (0, width)
    assert made.feature_norm_bound == 2.0
    np.testing.assert_allclose(norms, 2.0, rtol=1e-6)
    assert norms.max() <= 2.0


@pytest.mark.parametrize("feature_map", [normalised_scattering, centred_pixels])
def test_a_record_keeps_its_features_in_every_place_and_company(feature_map: FeatureMap) -> None:
    """To the bit, for a linear head takes features as they are, and no other check looks at maps."""
    images = np.random.default_rng(1).random((8, 16, 16))
    alone = features(images[:1], feature_map)[0]
    scales = np.array([1.0, 0.0, 1e-42, 1e20, 3e38, 1.0, 1.0])
    company = np.resize(scales, (40, 1, 1)) * np.resize(images, (40, 16, 16))
    company[[7, 31, 39]] = images[0]
    np.testing.assert_array_equal(
        features(company, feature_map)[[7, 31, 39]], np.resize(alone, (3, len(alone)))
    )


def features(images: np.ndarray, feature_map: FeatureMap) -> np.ndarray:
    return mapped(federation(images), feature_map, 1.0).silos[0].train.features


def test_the_rest_of_the_federation_stays() -> None:
    before = federation(np.random.default_rng(2).random((4, 16, 16)))
    after = mapped(before, centred_pixels, 1.0)
    assert (after.name, after.num_classes, after.silo_names) == ("images", 2, ("a",))
    np.testing.assert_array_equal(after.silos[0].train.labels, before.silos[0].train.labels)


def test_features_that_are_not_finite_become_zero_and_harm_no_other() -> None:
    def reciprocal(images: np.ndarray) -> np.ndarray:
        return np.float32(1.0) / images.reshape(len(images), -1)

    images = np.ones((3, 2, 2))
    images[1, 0, 0] = 0.0
    made = mapped(federation(images), reciprocal, 1.0).silos[0].train.features
    assert made[1, 0] == 0.0
    assert np.isfinite(made).all()
    np.testing.assert_array_equal(made[0], made[2])


@pytest.mark.parametrize("count", [1, 2, 255, 256, 257])
def test_the_map_sees_one_shape_whatever_the_number_of_records(count: int) -> None:
    shapes = set()

    def watching(images: np.ndarray) -> np.ndarray:
        shapes.add(images.shape)
        return images.reshape(len(images), -1)

    images = np.random.default_rng(3).random((count, 2, 2))
    made = mapped(federation(images), watching, None).silos[0].train.features
    assert shapes == {(256, 2, 2)}
    np.testing.assert_array_equal(made, images.reshape(count, -1).astype(np.float32))
