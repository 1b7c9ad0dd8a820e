"""Public feature maps applied to a federation: each record's features are a function of that record alone."""

from __future__ import annotations

import dataclasses

import numpy as np

from discreet.data.federation import Federation
from discreet.data.norm import scale_to_norm, with_constant
from discreet.data.records import Records
from discreet.models.features import FeatureMap

_CHUNK = 2000


def mapped(federation: Federation, feature_map: FeatureMap, norm_bound: float) -> Federation:
    """Replaces every record by its features, ready for a linear head.

    A constant feature is appended in place of a bias, and the record is scaled to L2 norm ``norm_bound``.

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


def _mapped(records: Records, feature_map: FeatureMap, norm_bound: float) -> Records:
    """Maps one silo's records chunk by chunk; an empty part keeps the width of the features."""
    if not len(records):
        one = np.zeros((1, *records.features.shape[1:]), dtype=np.float32)
        return Records(np.empty((0, feature_map(one).shape[1] + 1), dtype=np.float32), records.labels)
    parts = [
        scale_to_norm(
            with_constant(feature_map(records.features[first : first + _CHUNK]).astype(np.float64)),
            norm_bound,
        )
        for first in range(0, len(records), _CHUNK)
    ]
    return Records(np.concatenate(parts), records.labels)
