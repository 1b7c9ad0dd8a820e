"""Any integer law with a small support by inversion of its distribution function, to 128 bits.

A 64-bit word picks a value through a guide table of its leading 16 bits (Chen and Asau 1974); cells that
hold a boundary are searched, and a word that hits a boundary's first 64 bits is prolonged by 64 more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.arrays import Integers
from discreet.mechanisms.bits import Tails
from discreet.mechanisms.scratch import Scratch
from discreet.randomness import RandomSource

CDF_BITS = 128

_GUIDE_BITS = 16
_SHIFT = np.uint64(64 - _GUIDE_BITS)
_SEARCH = -1


@dataclass(frozen=True, slots=True, eq=False)
class InversionTable:
    """Boundaries of the values ``lowest``, ``lowest + 1``, … on the unit interval, in units of 2^-128.

    Attributes:
        lowest: smallest value.
        boundaries: upper boundary of every value but the last, non-decreasing, each below 2^128.
        leading: the first 64 bits of ``boundaries``.
        guide: for every leading 16 bits, the offset from ``lowest``, or −1 if the cell holds a boundary.
    """

    lowest: int
    boundaries: tuple[int, ...]
    leading: npt.NDArray[np.uint64]
    guide: npt.NDArray[np.int32]

    @classmethod
    def from_weights(cls, lowest: int, weights: Sequence[int]) -> InversionTable:
        """Builds the table of the law with P[lowest + i] ∝ ``weights[i]``, each probability within 2^-127."""
        total = sum(weights)
        boundaries, cumulative = [], 0
        for weight in weights[:-1]:
            cumulative += weight
            boundaries.append(min((cumulative << CDF_BITS) // total, (1 << CDF_BITS) - 1))
        leading = np.array([b >> (CDF_BITS - 64) for b in boundaries], dtype=np.uint64)
        cells = np.arange(1 << _GUIDE_BITS, dtype=np.uint64) << _SHIFT
        first = np.searchsorted(leading, cells, side="left")
        last = np.searchsorted(leading, cells | np.uint64((1 << (64 - _GUIDE_BITS)) - 1), side="right")
        guide = np.where(first == last, first, _SEARCH).astype(np.int32)
        return cls(lowest, tuple(boundaries), leading, guide)

    def draw(self, offsets: Integers, randomness: RandomSource, scratch: Scratch) -> None:
        """Fills ``offsets`` with independent values."""
        words = scratch.words("words", len(offsets))
        randomness.fill(words)
        tails = Tails.drawn_from(randomness)
        cells = np.right_shift(words, _SHIFT, out=scratch.words("cells", len(words)))
        # Cells are in range: with a mode other than "raise", `take` writes without a buffer of its own.
        found = scratch.words("found", len(words)).view(np.int32)[: len(words)]
        np.copyto(offsets, np.take(self.guide, cells.view(np.int64), out=found, mode="clip"))
        searched = np.flatnonzero(np.equal(offsets, _SEARCH, out=scratch.flags(len(words))))
        some = words[searched]
        low = np.searchsorted(self.leading, some, side="left")
        high = np.searchsorted(self.leading, some, side="right")
        offsets[searched] = high
        for i in np.flatnonzero(low != high):
            index = int(searched[i])
            offsets[index] = self._offset(tails.leading(int(some[i]), b"inversion", index, CDF_BITS))
        offsets += self.lowest

    def _offset(self, uniform: int) -> int:
        """Number of boundaries at or below ``uniform``, a multiple of 2^-128."""
        low, high = 0, len(self.boundaries)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self.boundaries[middle] <= uniform else (low, middle)
        return low
