"""Records: feature vectors and labels, checked once so that nothing later meets a NaN."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Booleans, Float32s, Integers
from discreet.errors import DataError, UnusableRecords

_ROWS_AT_A_TIME = 1 << 16


@dataclass(frozen=True, slots=True)
class Records:
    """Labelled records of one silo, or of a part of it; possibly none.

    Attributes:
        features: shape ``(n, *feature_shape)``, float32, finite.
        labels: shape ``(n,)``, int64, never negative: numbers of classes, or where the outcome is a number
            its place in the public range (`discreet.data.labels.Outcome`).
        persons: whose each record is, shape ``(n,)``, int64, never negative: records of equal numbers are one
            person's, and the numbers mean nothing else. None where nobody asks.

    Raises:
        DataError: if a shape or type is wrong, or a row holds NaN, Inf or a negative label. The message
            counts the rows and shows none of their values.

    Example:
        >>> len(Records(np.zeros((3, 2), np.float32), np.zeros(3, np.int64)))
        3
    """

    features: Float32s
    labels: Integers
    persons: Integers | None = None

    def __post_init__(self) -> None:
        if not (self.features.ndim >= 2 and self.features.dtype == np.float32):
            raise DataError(
                "features must be float32 with shape (records, ...); "
                f"got {self.features.dtype} with shape {self.features.shape}."
            )
        if not (self.labels.ndim == 1 and self.labels.dtype == np.int64):
            raise DataError(
                "labels must be int64 with shape (records,); "
                f"got {self.labels.dtype} with shape {self.labels.shape}."
            )
        if len(self.features) != len(self.labels):
            raise DataError(
                "every record must have one label; "
                f"got {len(self.features)} records and {len(self.labels)} labels."
            )
        if self.persons is not None and not _numbers(self.persons, len(self.labels)):
            raise DataError(
                f"persons must be int64 >= 0, one for each of {len(self.labels)} records; got "
                f"{self.persons.dtype} with shape {self.persons.shape}."
            )
        unusable = _unusable(self.features)
        if unusable:
            raise UnusableRecords(
                f"every feature must be a finite number; {unusable} of {len(self.labels)} records hold "
                "NaN or Inf. Remove these, or fill them by a rule that does not look at other records."
            )
        negative = int((self.labels < 0).sum())
        if negative:
            raise UnusableRecords(
                f"labels must be >= 0; {negative} of {len(self.labels)} records have a smaller one."
            )

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: Integers | Booleans) -> Records:
        """Returns the records at ``rows``: indices, or a mask of shape ``(n,)``."""
        persons = None if self.persons is None else self.persons[rows]
        return Records(self.features[rows], self.labels[rows], persons)

    def with_features(self, features: Float32s) -> Records:
        """Returns the same records with other features, shape ``(n, ...)``."""
        return Records(features, self.labels, self.persons)

    def __repr__(self) -> str:
        return f"Records({len(self)} of shape {self.features.shape[1:]})"


def _unusable(features: Float32s) -> int:
    """Counts the records with a number that is not finite, some at a time: what is told of all has a size."""
    axes, count = tuple(range(1, features.ndim)), 0
    for first in range(0, len(features), _ROWS_AT_A_TIME):
        part = features[first : first + _ROWS_AT_A_TIME]
        count += len(part) - int(np.isfinite(part).all(axis=axes).sum())
    return count


def _numbers(persons: Integers, count: int) -> bool:
    return persons.dtype == np.int64 and persons.shape == (count,) and bool((persons >= 0).all())
