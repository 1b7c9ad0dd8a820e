"""A feature map of the user's own: a function from one record to a vector, called record by record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from discreet.arrays import Float32s
from discreet.errors import ConfigurationError
from discreet.models.own_code import imported
from discreet.models.per_record import as_vector, features_of


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
            found = features_of(record.copy(), lambda one: _vector(self.name, one), self.length)
            if found is None:
                self.unusable += 1
            else:
                features[place] = found
        return features


def _vector(name: str, record: Float32s) -> Float32s:
    """Returns what the function gives for a record, as a vector.

    Raises:
        Exception: of any kind, from the user's code; TypeError or ValueError for what is no vector.
    """
    function = imported(name, "feature map")
    with np.errstate(all="ignore"):  # one record's overflow must not become a message
        return as_vector(function(record))
