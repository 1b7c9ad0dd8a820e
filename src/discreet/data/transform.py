"""Public feature extractors: each record's new features are a function of that record alone."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

from discreet.data.federation import Federation
from discreet.data.norm import scale_to_norm, with_constant
from discreet.data.records import Records
from discreet.models.scattering import Scattering

_CHUNK = 2000
_CHANNELS_A_GROUP = 3


def scattered(federation: Federation, scattering: Scattering, norm_bound: float) -> Federation:
    """Replaces every image by its scattering features, ready for a linear head.

    Channels are normalised in groups of three within each record (Tramèr and Boneh 2021, §2.3), a constant
    feature is appended in place of a bias, and the record is scaled to L2 norm ``norm_bound``.

    Guarantee:
        A record's features depend on no other record, so sensitivities are what they were.

    Raises:
        ConfigurationError: if the records are not images of sides that are multiples of 2^depth.
    """
    silos = tuple(
        dataclasses.replace(
            silo,
            train=_scattered(silo.train, scattering, norm_bound),
            test=_scattered(silo.test, scattering, norm_bound),
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


def _scattered(records: Records, scattering: Scattering, norm_bound: float) -> Records:
    width = int(np.prod(scattering.output_shape(records.features.shape[1:]))) + 1
    features = np.empty((len(records), width), dtype=np.float32)
    for first in range(0, len(records), _CHUNK):
        chunk = slice(first, first + _CHUNK)
        channels = torch.from_numpy(scattering(records.features[chunk]))
        groups = max(1, channels.shape[1] // _CHANNELS_A_GROUP)
        normal = torch.nn.functional.group_norm(channels, groups) if _divides(channels, groups) else channels
        features[chunk] = scale_to_norm(with_constant(normal.numpy().astype(np.float64)), norm_bound)
    return Records(features, records.labels)


def _divides(channels: torch.Tensor, groups: int) -> bool:
    """Says whether the channels fall into groups of equal size; otherwise they are left as they are."""
    return channels.shape[1] % groups == 0
