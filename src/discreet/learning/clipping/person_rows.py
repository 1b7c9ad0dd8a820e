"""Whose the rows of a batch are, for sums to which each person contributes one clipped vector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Indices, Integers


def widths(most: int) -> list[int]:
    """Returns all widths that persons with at most so many rows can have.

    Example:
        >>> widths(20)
        [1, 2, 4, 8, 16, 32]
    """
    return [1 << power for power in range((most - 1).bit_length() + 1)]


@dataclass(frozen=True, slots=True, repr=False)
class PersonRows:
    """The rows of a batch of persons, who lie one after the other, each with at least one row.

    Attributes:
        starts: where each person begins, and the number of rows last; shape ``(P + 1,)``.
        shares: what each row counts, shape ``(n,)``; those of one person sum to at most 1.

    Example:
        >>> rows = PersonRows(np.array([0, 2, 3]), np.array([0.5, 0.5, 1.0]))
        >>> [found.tolist() for found in rows.padded(np.array([0, 1]), 4)]
        [[0, 1, 0, 0, 2, 2, 2, 2], [[0.5, 0.5, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]]
        >>> [(width, chosen.tolist()) for width, chosen in rows.by_width()]
        [(1, [1]), (2, [0])]
    """

    starts: Integers
    shares: Floats

    def by_width(self) -> list[tuple[int, Indices]]:
        """Returns who fits into 1, 2, 4, 8, … rows: a width is a function of one person."""
        sizes = np.diff(self.starts)
        widths = 2 ** np.ceil(np.log2(sizes)).astype(np.int64)
        return [(width, np.flatnonzero(widths == width)) for width in np.unique(widths).tolist()]

    def padded(self, persons: Indices, width: int) -> tuple[Indices, Floats]:
        """Returns ``width`` rows of each of some persons, flat, and their shares, shape ``(persons, width)``.

        Somebody with fewer gives the own first row again, which then counts nothing: what is computed of a
        person is of that person's rows only.
        """
        begins, ends = self.starts[:-1][persons, None], self.starts[1:][persons, None]
        rows = begins + np.arange(width)
        own = rows < ends
        rows = np.where(own, rows, begins)
        return rows.ravel(), np.where(own, self.shares[rows], 0.0)
