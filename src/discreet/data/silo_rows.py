"""What one silo holds, row by row as it is read: held-out records, and of the others those that it uses."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.arrays import Booleans, Integers
from discreet.data.federation import Silo
from discreet.data.growing import GrowingRows
from discreet.data.identity import Identities
from discreet.data.persons import PersonRule, frequent_note
from discreet.data.records import Records
from discreet.data.split import Side, Split, lowest

_ROWS_AT_A_TIME = 1 << 16
_FEWEST_TO_CUT = 1 << 10


class _Grown:
    """Records that come part by part."""

    __slots__ = ("features", "labels", "persons")

    def __init__(self) -> None:
        self.features, self.labels, self.persons = GrowingRows(), GrowingRows(), GrowingRows()

    def __len__(self) -> int:
        return len(self.labels)

    def add(self, records: Records, rows: Integers) -> None:
        """Appends the records at ``rows``; of a part without any, the shape alone."""
        for first in range(0, max(1, len(rows)), _ROWS_AT_A_TIME):
            own = rows[first : first + _ROWS_AT_A_TIME]
            self.features.add(records.features[own])
            self.labels.add(records.labels[own])
            if records.persons is not None:
                self.persons.add(records.persons[own])

    def keep(self, kept: Booleans) -> None:
        self.features.keep(kept)
        self.labels.keep(kept)

    def whole(self, *, of_persons: bool) -> Records:
        persons = self.persons.whole() if of_persons else None
        return Records(self.features.whole(), self.labels.whole(), persons)


class SiloRows:
    """The records of one silo.

    Guarantee:
        What is kept is what `Split.used` keeps of all records at once; at no time are there many more
        training records than the silo's capacity. Persons come all at once.

    Args:
        name: public name of the silo.
        split: which records are held out, and how many the others may be.
        rule: how many records of a person are used; None where nobody asks whose they are.
    """

    def __init__(self, name: str, split: Split, rule: PersonRule | None) -> None:
        self.name, self._split, self._rule = name, split, rule
        self._capacity = split.capacity_of(name)
        self._train, self._test, self._words = _Grown(), _Grown(), GrowingRows()
        self._highest: np.uint64 | None = None
        self._seen = self._surplus = 0
        self._notes: list[str] = []

    def add(self, records: Records, rows: Integers, coins: Identities, *, holds_out: bool) -> None:
        """Takes some of the silo's records.

        Args:
            records: of any silo.
            rows: those that are the silo's, in the order of the source.
            coins: of all ``records``: what their public coins hang on.
            holds_out: whether some are held out; not where the source has test records of its own.
        """
        out = np.zeros(len(rows), dtype=np.bool_)
        if holds_out:
            own = coins.take(rows)
            persons = self._rule is not None
            out = self._split.persons_held_out(own) if persons else self._split.held_out(own, self.name)
            self.add_test(records, rows[out if self._split.side is Side.TRAINING else out & ~out])
        if self._rule is None or records.persons is None:
            self._add_training(records, rows[~out], coins)
            return
        self._notes += frequent_note(self.name, records.persons[rows], self._rule)
        self._add_persons(records, records.persons, rows[~out], coins, self._rule)

    def add_test(self, records: Records, rows: Integers) -> None:
        """Takes test records."""
        self._test.add(records, rows)

    def _add_training(self, records: Records, rows: Integers, coins: Identities) -> None:
        """Takes training records; where there are too many, those of the lowest words remain."""
        self._seen += len(rows)
        if self._capacity is None:
            self._train.add(records, rows)
            return
        for first in range(0, max(1, len(rows)), _ROWS_AT_A_TIME):
            own = rows[first : first + _ROWS_AT_A_TIME]
            words = self._split.capacity_words(coins.take(own), self.name)
            if self._highest is not None:
                # An equal word that comes later is the first to go.
                fit = words < self._highest
                own, words = own[fit], words[fit]
            self._train.add(records, own)
            self._words.add(words)
            if len(self._train) > self._capacity + max(self._capacity // 8, _FEWEST_TO_CUT):
                self._cut(self._capacity)

    def _cut(self, capacity: int) -> None:
        """Leaves out all but the lowest words, of which there are more than the capacity."""
        words: npt.NDArray[np.uint64] = self._words.so_far()
        kept = lowest(words, capacity)
        self._highest = np.uint64(words[kept].max(initial=0))
        self._train.keep(kept)
        self._words.keep(kept)

    def _add_persons(
        self, records: Records, persons: Integers, rows: Integers, coins: Identities, rule: PersonRule
    ) -> None:
        """Takes the training records of all persons; those of one person side by side."""
        kept, self._surplus, notes = self._split.persons_used(coins.take(rows), persons[rows], self.name)
        self._notes += notes
        first = rule.used(persons[rows])
        if further := int((kept & ~first).sum()):
            self._notes.append(
                f"silo {self.name!r}: {further} of {len(first)} {self._split.side.value} records are further "
                f"ones of persons who have more than most_records = {rule.most_records}; they are left out."
            )
        used = rows[kept & first]
        self._train.add(records, used[np.argsort(persons[used], kind="stable")])

    def silo(self) -> tuple[Silo, tuple[str, ...]]:
        """Returns the silo and what its owner is told; nothing may be added after."""
        surplus, notes = self._surplus, tuple(self._notes)
        if self._rule is None and self._capacity is not None and self._seen > self._capacity:
            surplus = self._seen - self._capacity
            notes = self._split.surplus_note(self.name, self._seen, self._capacity)
            if len(self._train) > self._capacity:
                self._cut(self._capacity)
        of_persons = self._rule is not None
        train, test = self._train.whole(of_persons=of_persons), self._test.whole(of_persons=of_persons)
        return Silo(self.name, train, test, surplus=surplus), notes
