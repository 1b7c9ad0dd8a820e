"""Public feature maps applied to a federation: each record's features are a function of that record alone."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from discreet.data.federation import Federation
from discreet.data.norm import scaled_with_constant
from discreet.data.records import Records
from discreet.models.features import FeatureMap

_CHUNK = 250


def mapped(federation: Federation, feature_map: FeatureMap, norm_bound: float | None) -> Federation:
    """Replaces every record by its features, ready for a linear head or, without a bound, for a network.

    A constant feature is appended in place of a bias, and the record is scaled to L2 norm ``norm_bound``.
    None keeps the features and their shape, and promises no bound. A feature that is not finite becomes 0.

    Guarantee:
        A record's features depend on no other record, so sensitivities are what they were.

    Raises:
        ConfigurationError: if the records do not suit the map.
    """
    silos = tuple(
        dataclasses.replace(
            silo,
            train=_mapped(silo.train, feature_map, norm_bound),
            test=_mapped(silo.test, feature_map, norm_bound),
        )
        for silo in federation.silos
    )
    return dataclasses.replace(
        federation,
        silos=silos,
        feature_shape=silos[0].train.features.shape[1:],
        feature_norm_bound=norm_bound,
        feature_names=(),
    )


def _mapped(records: Records, feature_map: FeatureMap, norm_bound: float | None) -> Records:
    """Maps one silo's records chunk by chunk; an empty part keeps the shape of the features."""
    images = records.features
    if not len(records):
        one = _finished(feature_map(np.zeros((1, *images.shape[1:]), dtype=np.float32)), norm_bound)
        return Records(np.empty((0, *one.shape[1:]), dtype=np.float32), records.labels)
    parts = [
        _finished(_of_public_shape(images[first : first + _CHUNK], feature_map), norm_bound)
        for first in range(0, len(records), _CHUNK)
    ]
    return Records(np.concatenate(parts), records.labels)


def _of_public_shape(images: npt.NDArray[np.float32], feature_map: FeatureMap) -> npt.NDArray[np.float32]:
    """Maps a chunk in the company of zeros up to ``_CHUNK``: kernels change with the number of rows."""
    padded = np.zeros((_CHUNK, *images.shape[1:]), dtype=np.float32)
    padded[: len(images)] = images
    with np.errstate(all="ignore"):
        return feature_map(padded)[: len(images)]


def _finished(features: npt.NDArray[np.float32], norm_bound: float | None) -> npt.NDArray[np.float32]:
    features = np.nan_to_num(features, nan=0.0, posinf=0.0, neginf=0.0)
    return features if norm_bound is None else scaled_with_constant(features, norm_bound)
