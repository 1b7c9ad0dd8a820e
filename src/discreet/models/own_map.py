"""A feature map of the user's own: a function from one record to a vector, called record by record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from discreet.arrays import Float32s
from discreet.errors import ConfigurationError
from discreet.models.own_code import imported


@dataclass(slots=True)
class OwnMap:
    """The features that a function of the user's gives to each record by itself.

    Guarantee:
        One record never decides whether others get features, or which, if the function keeps nothing from
        call to call: a record on which it raises, or gives no vector of the public length, gets zeros and is
        counted.

    Attributes:
        name: ``module:function``.
        length: numbers that it gives for a record; found on a record of zeros, so it is public.
        unusable: records that got zeros so far; private.
    """

    name: str
    length: int
    unusable: int = 0

    @classmethod
    def of(cls, name: str, feature_shape: tuple[int, ...]) -> Self:
        """Imports a function and tries it on a record of zeros.

        Raises:
            ConfigurationError: if it cannot be imported, or gives no vector for such a record.
        """
        try:
            found = _vector(name, np.zeros(feature_shape, dtype=np.float32))
        except ConfigurationError:
            raise
        except Exception as error:
            raise ConfigurationError(
                f"feature map {name!r} must give a vector of real numbers for a record of shape "
                f"{feature_shape}; for one of zeros it raised {type(error).__name__}: {error}. Let it take "
                "one record, and return its features."
            ) from error
        return cls(name, len(found))

    def __call__(self, records: Float32s) -> Float32s:
        """Returns the features of records, shape ``(n, length)``."""
        features = np.zeros((len(records), self.length), dtype=np.float32)
        for place, record in enumerate(records):
            try:
                features[place] = _checked(_vector(self.name, record.copy()), self.length)
            except KeyboardInterrupt:
                raise
            except BaseException:  # panics of compiled code too: only this record may hang on it
                features[place] = 0.0
                self.unusable += 1
        return features


def _vector(name: str, record: Float32s) -> Float32s:
    """Returns what the function gives for a record, as a vector.

    Raises:
        Exception: of any kind, from the user's code; TypeError or ValueError for what is no vector.
    """
    function = imported(name, "feature map")
    with np.errstate(all="ignore"):  # one record's overflow must not become a message
        return _as_vector(function(record))


def _as_vector(returned: object) -> Float32s:
    given = np.asarray(returned)
    if given.dtype.kind not in "fiub":
        raise TypeError(f"it returned {given.dtype}, no real numbers")
    if given.ndim != 1 or not given.size:
        raise ValueError(f"it returned the shape {given.shape}, no vector")
    return given.astype(np.float32)


def _checked(vector: Float32s, length: int) -> Float32s:
    """Refuses another length; one number would otherwise fill the whole row."""
    if len(vector) != length:
        raise ValueError(f"it must return {length} numbers; got {len(vector)}")
    return vector
