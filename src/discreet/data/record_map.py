"""What a preparation leads to: a public map of one record."""

from __future__ import annotations

from typing import Protocol

from discreet.arrays import Float32s


class RecordMap(Protocol):
    """A map from the features of records, as they are read, to those that a model takes.

    Guarantee:
        A record's features depend on that record and public values alone, bit by bit, and have L2 norm at
        most the public bound, whatever was announced. So adding or removing a record changes no other one.
    """

    def features(self, features: Float32s) -> Float32s:
        """Returns the mapped features of records, shape ``(n, ...)``."""
