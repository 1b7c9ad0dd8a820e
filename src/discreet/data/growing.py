"""Rows that come part by part, in one array that grows in place."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import Booleans

# New rows are pages that are written at once, and growing copies nothing.
_GROWTH = 1.0625
_ROWS_AT_A_TIME = 1 << 16


class GrowingRows:
    """An array of rows, longer with every part.

    The system moves the pages of a large array where it grows and copies nothing. A list of parts would hold
    all rows twice when it is put together, and the allocator keeps what the parts leave behind.
    """

    __slots__ = ("_count", "_rows")

    def __init__(self) -> None:
        self._rows: npt.NDArray[Any] = np.empty(0)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, part: npt.NDArray[Any]) -> None:
        """Appends rows of one shape and type."""
        if not len(self._rows):
            self._rows = np.empty_like(part)
        count = self._count + len(part)
        if count > len(self._rows):
            self._resize(max(count, int(_GROWTH * len(self._rows))))
        self._rows[self._count : count] = part
        self._count = count

    def keep(self, kept: Booleans) -> None:
        """Leaves the other rows out; ``kept`` has one entry for each row."""
        count = 0
        rows = self.so_far()
        for first in range(0, len(rows), _ROWS_AT_A_TIME):
            own = slice(first, first + _ROWS_AT_A_TIME)
            part = rows[own][kept[own]]
            self._rows[count : count + len(part)] = part
            count += len(part)
        self._count = count

    def so_far(self) -> npt.NDArray[Any]:
        """Returns a view of the rows, which is no longer one when a row is added."""
        return self._rows[: self._count]

    def whole(self) -> npt.NDArray[Any]:
        """Returns all rows; none may be added after."""
        self._resize(self._count)
        return self._rows

    def _resize(self, count: int) -> None:
        self._rows.resize((count, *self._rows.shape[1:]), refcheck=False)
