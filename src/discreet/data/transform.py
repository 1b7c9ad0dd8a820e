"""Public feature maps applied to a federation: each record's features are a function of that record alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from discreet.arrays import Float32s
from discreet.data.feature_cache import FeatureCache
from discreet.data.federation import Federation
from discreet.data.norm import scaled_with_constant
from discreet.models.features import FeatureMap

CHUNK = 256  # a multiple of all that vector instructions take at a time
"""Records that a map is asked about at once."""


def mapped(
    federation: Federation,
    feature_map: FeatureMap,
    norm_bound: float | None,
    cache: FeatureCache | None = None,
) -> Federation:
    """Replaces every record by its features, ready for a linear head or, without a bound, for a network.

    A constant feature is appended in place of a bias, and the record is scaled to L2 norm ``norm_bound``.
    None keeps the features and their shape, and promises no bound. A feature that is not finite becomes 0.

    Guarantee:
        A record's features depend on no other record, so sensitivities are what they were.

    Args:
        federation: the records.
        feature_map: to features, chunk by chunk.
        norm_bound: that features are scaled to.
        cache: where features of these very records are kept; None makes them anew.

    Raises:
        ConfigurationError: if the records do not suit the map.
    """
    parts = [part.features for silo in federation.silos for part in (silo.train, silo.test)]
    notes: list[str] = []
    if cache is None or norm_bound is None:
        features = iter(_mapped(parts, feature_map, norm_bound))
    else:
        features = iter(_kept(parts, feature_map, norm_bound, cache, notes))
    silos = tuple(
        dataclasses.replace(
            silo,
            train=silo.train.with_features(next(features)),
            test=silo.test.with_features(next(features)),
        )
        for silo in federation.silos
    )
    return dataclasses.replace(
        federation,
        silos=silos,
        feature_shape=silos[0].train.features.shape[1:],
        feature_norm_bound=norm_bound,
        feature_names=(),
        warnings=(*federation.warnings, *notes),
    )


def mapped_records(records: Float32s, feature_map: FeatureMap, norm_bound: float | None) -> Float32s:
    """Returns the features of records, made as `mapped` makes them; shape ``(n, ...)``, also for none."""
    return _mapped([records], feature_map, norm_bound)[0]


def _kept(
    parts: list[Float32s], feature_map: FeatureMap, norm_bound: float, cache: FeatureCache, notes: list[str]
) -> list[Float32s]:
    """Maps all parts, or finds what they were mapped to before; no disk decides whether there are any."""
    counts, place = [len(part) for part in parts], cache.place(parts)
    width = _mapped([parts[0][:0]], feature_map, norm_bound)[0].shape[1]
    found = cache.load(place, (sum(counts), width), norm_bound)
    if found is not None:
        return np.split(found, np.cumsum(counts)[:-1])
    made = _mapped(parts, feature_map, norm_bound)
    try:
        cache.store(place, np.concatenate(made))
    except OSError as error:
        notes.append(
            f"features must be kept in {cache.folder}, and cannot: {error.strerror}. They are made each "
            "time. Remove the folder if records have left."
        )
    return made


def _mapped(parts: list[Float32s], feature_map: FeatureMap, norm_bound: float | None) -> list[Float32s]:
    """Maps all parts, chunk by chunk, and returns them as they were divided."""
    counts = [len(part) for part in parts]
    shape, first = parts[0].shape[1:], 0
    mapped_rows: Float32s | None = None
    for chunk, filled in _chunks(parts, shape):
        found = _finished(feature_map, chunk, norm_bound)
        if mapped_rows is None:
            mapped_rows = np.empty((sum(counts), *found.shape[1:]), dtype=np.float32)
        mapped_rows[first : first + filled] = found[:filled]
        first += filled
    if mapped_rows is None:
        one = _finished(feature_map, np.zeros((1, *shape), dtype=np.float32), norm_bound)
        mapped_rows = one[:0]
    return np.split(mapped_rows, np.cumsum(counts)[:-1])


def _chunks(parts: list[Float32s], shape: tuple[int, ...]) -> Iterator[tuple[Float32s, int]]:
    """Yields chunks of one public shape and how many of its rows are records; zeros fill the last up.

    Kernels change with the number of rows, and a record's features must not change with that of others.
    """
    chunk, filled = np.zeros((CHUNK, *shape), dtype=np.float32), 0
    for part in parts:
        taken = 0
        while taken < len(part):
            count = min(CHUNK - filled, len(part) - taken)
            chunk[filled : filled + count] = part[taken : taken + count]
            taken, filled = taken + count, filled + count
            if filled == CHUNK:
                yield chunk, filled
                chunk, filled = np.zeros_like(chunk), 0
    if filled:
        yield chunk, filled


def _finished(feature_map: FeatureMap, images: Float32s, norm_bound: float | None) -> Float32s:
    """Maps a chunk and makes its features finite and, if there is a bound, short."""
    with np.errstate(all="ignore"):
        features = np.nan_to_num(feature_map(images), nan=0.0, posinf=0.0, neginf=0.0)
    return features if norm_bound is None else scaled_with_constant(features, norm_bound)
