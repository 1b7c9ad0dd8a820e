"""Records that are told apart by whose they are: the person is what training samples, limits and protects."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import Booleans, Integers
from discreet.data.identity import Identities
from discreet.data.pool import Pool
from discreet.errors import DataError

NOBODY = ("", "nan", "NaN", "NA", "N/A", "<NA>", "None", "none", "NULL", "null", "NaT", "?")
"""What sources write where they do not know whose a record is; so is an entry with unreadable letters."""


@dataclass(frozen=True, slots=True)
class PersonRule:
    """Which records of a person are used: the first so many, in the order of the source.

    Guarantee:
        What is used of a person is a function of that person's own records and of their order.

    Attributes:
        most_records: public.
        most_silos: how many silos may hold records of one person, as the plan assumes.
    """

    most_records: int
    most_silos: int = 1

    def __post_init__(self) -> None:
        if not (self.most_records >= 1 and self.most_silos >= 1):
            raise DataError(
                f"most_records and most_silos must be at least 1; got {self.most_records} and "
                f"{self.most_silos}."
            )

    def used(self, persons: Integers) -> Booleans:
        """Says which of some records are used; ``persons`` says whose they are, shape ``(n,)``."""
        order = np.argsort(persons, kind="stable")
        ordered = persons[order]
        starts = np.searchsorted(ordered, ordered, side="left")
        kept = np.empty(len(persons), dtype=np.bool_)
        kept[order] = np.arange(len(persons)) - starts < self.most_records
        return kept


def of_persons(pool: Pool) -> Pool:
    """Returns the pool with the number of its person at every record, without records of nobody.

    A record of nobody cannot be counted for anybody, so it is left out: by what it holds itself.

    Raises:
        DataError: if the source does not say whose its records are, or has a test set of its own, in which
            the same persons may be.
    """
    if not pool.marks.named:
        raise DataError(
            f"{pool.name}: the source must say whose a record is; it does not. Name the column in "
            "data.person, or use the unit record."
        )
    if pool.test is not None:
        raise DataError(
            f"{pool.name}: persons must be held out by coins of their own, but the source has a test set. "
            "Set keep_test_set = false."
        )
    known = ~_of_nobody(pool.marks.identities)
    notes = pool.notes
    if unknown := int((~known).sum()):
        notes = (*notes, f"{pool.name}: {unknown} of {len(known)} records are nobody's; THEY ARE LEFT OUT.")
    marks = pool.marks.take(known)
    groups = {
        name: [cell for cell, kept in zip(cells, known.tolist(), strict=True) if kept]
        for name, cells in pool.groups.items()
    }
    records = replace(pool.records.take(known), persons=marks.identities.numbers())
    return replace(pool, records=records, marks=marks, groups=groups, notes=notes)


def _of_nobody(identities: Identities) -> Booleans:
    nobody = Identities.of_texts(list(NOBODY))
    return np.isin(identities.words("nobody"), nobody.words("nobody"))


def frequent_note(silo: str, persons: Integers, rule: PersonRule) -> tuple[str, ...]:
    """Counts names with more records than are used of one person: some may stand for many people.

    Args:
        silo: which holds the records.
        persons: whose each of them is, shape ``(n,)``.
        rule: the plan's.
    """
    _, records = np.unique(persons, return_counts=True)
    frequent = int((records > rule.most_records).sum())
    if not frequent:
        return ()
    return (
        f"silo {silo!r}: {frequent} of {len(records)} persons have more than most_records = "
        f"{rule.most_records} records; a name that stands for many people, such as 'unknown', counts as one "
        "person's. Leave its cells empty.",
    )


def spread_note(name: str, persons: Integers, silos: Integers, rule: PersonRule) -> tuple[str, ...]:
    """Counts persons at more silos than the plan assumes: whoever simulates sees it, a silo cannot.

    Args:
        name: the source's.
        persons: whose each record is, shape ``(n,)``.
        silos: the number of the silo that holds it, negative for none.
        rule: the plan's.
    """
    pairs = np.unique(np.stack([persons[silos >= 0], silos[silos >= 0]]), axis=1)
    at = np.bincount(pairs[0]) if pairs.size else np.zeros(0, dtype=np.int64)
    wide = int((at > rule.most_silos).sum())
    if not wide:
        return ()
    return (
        f"{name}: {wide} persons have records at more silos than most_silos = {rule.most_silos}; THE "
        "GUARANTEE DOES NOT HOLD FOR THEM. Raise data.person.most_silos.",
    )
