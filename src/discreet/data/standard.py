"""Centring and scaling numbers of records by announced values: a public map of one record."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Float32s, Floats
from discreet.data.norm import scaled_with_constant

FARTHEST = 1.5
"""A standardised number lies in [-1.5, 1.5]: what is farther from the centre counts as if it were there."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the features of a record hold a number.

    Attributes:
        number: the feature, a number of the public range that is mapped onto [-1, 1].
        missing: the feature that is positive where the number is missing; None where nothing says so.
    """

    number: int
    missing: int | None = None


@dataclass(frozen=True, slots=True)
class Ramp:
    """How one number of the range [-1, 1] is standardised: a line between two ends, flat beyond."""

    center: float
    scale: float

    @property
    def corners(self) -> tuple[float, ...]:
        """The ends of the range, and where the line starts, meets 0 and ends, if that is inside."""
        inside = (self.center - FARTHEST * self.scale, self.center, self.center + FARTHEST * self.scale)
        return (-1.0, *(corner for corner in inside if -1.0 < corner < 1.0), 1.0)

    def standardised(self, value: float) -> float:
        """Returns what becomes of a number of the range."""
        return min(max((value - self.center) / self.scale, -FARTHEST), FARTHEST)


@dataclass(frozen=True, slots=True, eq=False)
class Standard:
    """A map from the features of a record to standardised features of the same shape and norm.

    Guarantee:
        A record's features depend on that record and the announced values alone, bit by bit, and have L2 norm
        at most ``norm_bound``, whatever was announced: values outside of what a release can lead to are
        replaced first. So adding or removing a record changes no other one.

    Attributes:
        places: of the numbers.
        center: of each, in [-1, 1].
        scale: of each, from ``floor`` to 1.
        norm_bound: R, to which records were scaled, and are again.
    """

    places: tuple[Place, ...]
    center: Floats
    scale: Floats
    norm_bound: float

    @staticmethod
    def announced(places: tuple[Place, ...], values: Floats, *, floor: float, norm_bound: float) -> Standard:
        """Returns the map of announced values, shape ``(2, len(places))``: centres, then scales.

        Raises:
            ValueError: if there is another number of them.
        """
        if values.shape != (2, len(places)):
            raise ValueError(f"two values must be announced for each of {len(places)} numbers")
        center = np.clip(np.nan_to_num(values[0], nan=0.0), -1.0, 1.0)
        scale = np.clip(np.nan_to_num(values[1], nan=1.0), floor, 1.0)
        return Standard(places, center, scale, norm_bound)

    def ramp(self, number: int) -> Ramp | None:
        """Returns what becomes of a feature; None of one that is no number."""
        for place, center, scale in zip(self.places, self.center, self.scale, strict=True):
            if place.number == number:
                return Ramp(float(center), float(scale))
        return None

    def features(self, features: Float32s) -> Float32s:
        """Returns the standardised features of records, shape ``(n, d)``, which end with a constant.

        A missing number that a feature tells of becomes the centre.
        """
        values = unscaled(features)
        for place, center, scale in zip(self.places, self.center, self.scale, strict=True):
            own = np.clip((values[:, place.number] - center) / scale, -FARTHEST, FARTHEST)
            if place.missing is not None:
                own[values[:, place.missing] > 0.0] = 0.0
            values[:, place.number] = own
        return scaled_with_constant(values[:, :-1], self.norm_bound)


def unscaled(features: Float32s) -> Floats:
    """Returns records as they were before they were scaled to a norm: their constant is 1 again.

    Numbers lie in [-1, 1] again, but for rounding, by which no record differs among others.
    """
    values = features.astype(np.float64)
    return values / values[:, -1:]
