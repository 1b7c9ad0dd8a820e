"""Measures on the machine at hand that no record's features depend on others, in the map's own lengths."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.arrays import Float32s
from discreet.errors import HowTo, PrivacyRefusal

_SHIFTS = (1, 5)


def require_map_alike(
    name: str, feature_map: Callable[[Float32s], Float32s], rows: int, record_shape: tuple[int, ...]
) -> None:
    """Refuses a map that gives a record other features in another place, or in other company.

    A measurement on random records among huge, tiny and zero ones, as `discreet.learning.alike` measures what
    is trained; it takes as long as three pieces of records.

    Args:
        name: of the map, as the plan has it.
        feature_map: of many records at once.
        rows: how many of them kernels see at once.
        record_shape: of one record.

    Raises:
        PrivacyRefusal: if a bit of a feature changes.
    """
    records = np.random.default_rng(0).uniform(size=(rows, *record_shape)).astype(np.float32)
    everywhere = np.arange(rows)
    with np.errstate(all="ignore"):
        expected = _bits(feature_map(records))
        for parity, shift in enumerate(_SHIFTS):
            order, kept = np.roll(everywhere, shift), everywhere % 2 == parity
            company = records[order]
            company[~kept] = strange(company[~kept])
            if not np.array_equal(_bits(feature_map(company))[kept], expected[order][kept]):
                raise PrivacyRefusal(
                    "A record's features must not depend on its place in a batch or on the other records, to "
                    f"the bit; on this machine those of {name!r} do. Unset environment variables that change "
                    "kernels, or take features of a network: or onnx:, which hears one record at a time.",
                    see=HowTo.DATA,
                )


def strange(rows: Float32s) -> Float32s:
    """Returns as many rows of numbers as large, as small or as equal as float32 allows."""
    largest = np.finfo(np.float32).max
    scales = np.resize(np.array([largest, 0.0, 1e-42, 1e20], np.float32), len(rows))
    return np.sign(rows) * scales.reshape(-1, *(1,) * (rows.ndim - 1))


def _bits(features: Float32s) -> np.ndarray:
    return np.ascontiguousarray(features, dtype=np.float32).view(np.int32)
