"""Whose the rows of a batch are, for sums to which each person contributes one clipped vector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Indices, Integers


@dataclass(frozen=True, slots=True, repr=False)
class PersonRows:
    """The rows of a batch of persons, who lie one after the other, each with at least one row.

    Attributes:
        starts: where each person begins, and the number of rows last; shape ``(P + 1,)``.
        shares: what each row counts, shape ``(n,)``; those of one person sum to at most 1.
        most: public; no person has more rows.

    Example:
        >>> rows = PersonRows(np.array([0, 2, 3]), np.array([0.5, 0.5, 1.0]), most=3)
        >>> [found.tolist() for found in rows.part(slice(0, 2))]
        [[0, 1, 0, 2, 2, 2], [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]]
    """

    starts: Integers
    shares: Floats
    most: int

    @property
    def count(self) -> int:
        """How many persons there are."""
        return len(self.starts) - 1

    def part(self, persons: slice) -> tuple[Indices, Floats]:
        """Returns ``most`` rows of each of some persons, flat, and their shares, shape ``(persons, most)``.

        Somebody with fewer gives the own first row again, which then counts nothing: what is computed of a
        person is of that person's rows only.
        """
        begins, ends = self.starts[:-1][persons, None], self.starts[1:][persons, None]
        rows = begins + np.arange(self.most)
        own = rows < ends
        rows = np.where(own, rows, begins)
        return rows.ravel(), np.where(own, self.shares[rows], 0.0)
