"""What a silo samples, deals to steps and counts: its records, or its persons with all of their records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Indices, Integers
from discreet.data.records import Records
from discreet.errors import PrivacyViolation
from discreet.kinds.persons import PersonWeights
from discreet.learning.clipping.person_rows import PersonRows


@dataclass(frozen=True, slots=True)
class RecordUnits:
    """Every record by itself."""

    count: int

    def rows(self, units: Indices) -> Indices:
        """Returns the rows of some units: their own numbers."""
        return units

    def sizes(self, units: Indices) -> Integers:
        """Returns how many rows each of some units has: one."""
        return np.ones(len(units), dtype=np.int64)

    def weights(self, rows: Indices) -> None:  # noqa: ARG002 - one contract for both
        """Returns nothing: each record counts once."""
        return

    def owners(self, units: Indices) -> None:  # noqa: ARG002 - one contract for both
        """Returns nothing: rows belong to nobody."""
        return


@dataclass(frozen=True, slots=True, repr=False)
class PersonUnits:
    """Persons, numbered from 0 in the order of the numbers that their records carry.

    Attributes:
        order: all rows, person after person, each person's in the order of the source, shape ``(n,)``; None
            if they lie so already, as loaded ones do.
        starts: where each person begins in it, and its length last; shape ``(count + 1,)``.
        by_row: the weight of each row, shape ``(n,)``.
    """

    order: Indices | None
    starts: Integers
    by_row: Floats

    @property
    def count(self) -> int:
        """How many persons there are."""
        return len(self.starts) - 1

    def rows(self, units: Indices) -> Indices:
        """Returns the rows of some persons, person after person."""
        begins, lengths = self.starts[units], self.sizes(units)
        ends = np.cumsum(lengths)
        rows: Indices = np.repeat(begins - ends + lengths, lengths)
        rows += np.arange(len(rows))
        return rows if self.order is None else self.order[rows]

    def sizes(self, units: Indices) -> Integers:
        """Returns how many rows each of some persons has."""
        found: Integers = self.starts[units + 1] - self.starts[units]
        return found

    def weights(self, rows: Indices) -> Floats:
        """Returns what each of some rows counts; those of one person sum to at most 1."""
        return self.by_row[rows]

    def owners(self, units: Indices) -> PersonRows:
        """Returns whose the `rows` of some persons are."""
        starts = np.concatenate([[0], np.cumsum(self.sizes(units))]).astype(np.int64)
        return PersonRows(starts, self.weights(self.rows(units)))


Units = RecordUnits | PersonUnits


def units_of(records: Records, persons: PersonWeights | None) -> Units:
    """Returns the units of some records.

    Args:
        records: a silo's.
        persons: None if every record is one.

    Raises:
        PrivacyViolation: if nobody says whose the records are, or a person has more than the public number
            of records; records that were loaded by the plan's rules never raise it.
    """
    if persons is None:
        return RecordUnits(len(records))
    if records.persons is None:
        raise PrivacyViolation(
            "Records must say whose they are where persons are protected; these do not. Load them by the "
            "plan's own rules."
        )
    ordered, order = records.persons, None
    if np.any(ordered[1:] < ordered[:-1]):
        order = np.argsort(ordered, kind="stable").astype(np.int64)
        ordered = ordered[order]
    begins = np.flatnonzero(np.concatenate([[len(ordered) > 0], ordered[1:] != ordered[:-1]]))
    starts = np.append(begins, len(ordered)).astype(np.int64)
    counts = np.diff(starts)
    if not int(counts.max(initial=0)) <= persons.most_records:
        raise PrivacyViolation(
            f"No person may have more than the public number of records, {persons.most_records}; one has. "
            "Load records by the plan's own rules, or raise data.person.most_records."
        )
    by_row = np.repeat(persons.of(counts), counts)
    if order is not None:
        unordered, by_row = by_row, np.empty_like(by_row)
        by_row[order] = unordered
    return PersonUnits(order, starts, by_row)
