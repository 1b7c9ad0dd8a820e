"""Rows that come part by part, in one array that grows in place."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_GROWTH = 1.25


class GrowingRows:
    """An array of rows, longer with every part.

    The system moves the pages of a large array where it grows and copies nothing. A list of parts would hold
    all rows twice when it is put together, and the allocator keeps what the parts leave behind.
    """

    __slots__ = ("_count", "_rows")

    def __init__(self) -> None:
        self._rows: npt.NDArray[Any] = np.empty(0)
        self._count = 0

    def add(self, part: npt.NDArray[Any]) -> None:
        """Appends rows of one shape and type."""
        if not len(self._rows):
            self._rows = np.empty_like(part)
        count = self._count + len(part)
        if count > len(self._rows):
            self._resize(max(count, int(_GROWTH * len(self._rows))))
        self._rows[self._count : count] = part
        self._count = count

    def whole(self) -> npt.NDArray[Any]:
        """Returns all rows."""
        self._resize(self._count)
        return self._rows

    def _resize(self, count: int) -> None:
        self._rows.resize((count, *self._rows.shape[1:]), refcheck=False)
