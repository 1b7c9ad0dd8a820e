r"""The unit person: how much each record of a person counts, so that all of them count as much as one record.

A person's records get weights of their own that sum to at most 1. In stable- and tangent-steps all of them
are in one local step, where the weights times gradients are at most L long and at most β smooth together; in
single- and noisy-steps the weighted sum of the gradients is clipped to C, once a person. So a person moves an
update no further than one record does where records are the unit (docs/theory/persons.md, theorem 2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.errors import ConfigurationError

MOST_AT_ONCE = 1024
"""Records of one person that a network runs through at once."""


@dataclass(frozen=True, slots=True)
class PersonWeights:
    """The weights of one person's records; a function of how many they are, and of public numbers.

    Attributes:
        most_records: public; no person has more, for the rest is left out when records are read.
        over_records: whether every record counts the same, 1/``most_records``; else every person does, and a
            record of a person with m of them counts 1/m.

    Raises:
        ConfigurationError: if ``most_records`` is not positive.

    Example:
        >>> PersonWeights(4).of(np.array([1, 2, 4])).tolist()
        [1.0, 0.5, 0.25]
        >>> PersonWeights(4, over_records=True).of(np.array([1, 2, 4])).tolist()
        [0.25, 0.25, 0.25]
    """

    most_records: int
    over_records: bool = False

    def __post_init__(self) -> None:
        if not self.most_records >= 1:
            raise ConfigurationError(f"'most_records' must be >= 1; got {self.most_records}.")

    def of(self, counts: Integers) -> Floats:
        """Returns the weight of each record of persons who have so many; shape of ``counts``, at least 1."""
        if self.over_records:
            return np.full(counts.shape, 1.0 / self.most_records)
        weights: Floats = 1.0 / counts
        return weights


def require_computable(persons: PersonWeights | None, *, written_out: bool) -> None:
    """Refuses numbers under which a network would compute more of one person at once than a machine holds.

    Args:
        persons: how a person's records count; None where each is by itself.
        written_out: whether a person's vector is written out in closed form, as that of a linear head is.

    Raises:
        ConfigurationError: if a person may have more than `MOST_AT_ONCE` records.
    """
    if persons is not None and not written_out and persons.most_records > MOST_AT_ONCE:
        raise ConfigurationError(
            f"'data.person.most_records' must be at most {MOST_AT_ONCE} where a network's gradients are "
            f"clipped person by person; got {persons.most_records}. Use fewer, or a linear model with flat "
            "clipping."
        )


def records_of(persons: PersonWeights | None, units: int) -> int:
    """Returns a public bound on the records of so many units: as many, or of each person the most."""
    return units if persons is None else units * persons.most_records
