"""Whose the measured records are: records of one person are no independent draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Booleans, Integers


@dataclass(frozen=True, slots=True)
class Owners:
    """The person of each measured record, or nobody's.

    Attributes:
        persons: numbers from 0, shape ``(n,)``; None where each record is taken for an independent draw.
    """

    persons: Integers | None = None

    @property
    def count(self) -> int | None:
        """How many persons there are; None where nobody says."""
        return None if self.persons is None else len(np.unique(self.persons))

    def among(self, chosen: Booleans) -> Owners:
        """Returns the owners of some of the records."""
        return self if self.persons is None else Owners(self.persons[chosen])

    def worth(self) -> float:
        r"""Returns how many independent records one of these is worth, at most 1.

        (Σm)²/Σm² independent records say as much as n = Σm of persons with m each whose records are all
        alike (Kish 1965, section 8.2); records that differ say more, so intervals err by being too wide.

        Example:
            >>> Owners(np.array([0, 0, 1, 1])).worth(), Owners().worth()
            (0.5, 1.0)
        """
        if self.persons is None or not len(self.persons):
            return 1.0
        sizes = np.unique(self.persons, return_counts=True)[1].astype(np.float64)
        return float(sizes.sum() / np.square(sizes).sum())


NOBODYS = Owners()


def of_persons(records: int, persons: int | None) -> str:
    """Writes how many records were measured, and whose they are where one person may have several.

    Example:
        >>> of_persons(1648, 85), of_persons(20, None)
        ('1,648 of 85 persons', '20')
    """
    return f"{records:,}" + ("" if persons is None else f" of {persons:,} persons")
