"""Scattering features: bounded, one record at a time, and what a plan needs to know of them."""

import numpy as np

from discreet.data import Federation, Records, Silo
from discreet.data.transform import scattered
from discreet.models.scattering import Scattering


def federation(images: np.ndarray) -> Federation:
    labels = np.arange(len(images)) % 2
    records = Records(images.astype(np.float32), labels)
    return Federation("images", (Silo("a", records, records),), 2, images.shape[1:])


def test_features_are_bounded_and_their_shape_is_public() -> None:
    images = np.random.default_rng(0).random((6, 28, 28))
    made = scattered(federation(images), Scattering(), 2.0)
    features = made.silos[0].train.features.astype(np.float64)
    assert made.feature_shape == (81 * 7 * 7 + 1,)
    assert made.feature_norm_bound == 2.0
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 2.0, rtol=1e-6)
    assert np.linalg.norm(features, axis=1).max() <= 2.0


def test_a_record_does_not_move_the_others() -> None:
    images = np.random.default_rng(1).random((5, 28, 28))
    whole = scattered(federation(images), Scattering(), 1.0).silos[0].train.features
    fewer = scattered(federation(images[:4]), Scattering(), 1.0).silos[0].train.features
    np.testing.assert_array_equal(whole[:4], fewer)


def test_the_rest_of_the_federation_stays() -> None:
    before = federation(np.random.default_rng(2).random((4, 16, 16)))
    after = scattered(before, Scattering(1, 4), 1.0)
    assert (after.name, after.num_classes, after.silo_names) == ("images", 2, ("a",))
    np.testing.assert_array_equal(after.silos[0].train.labels, before.silos[0].train.labels)
