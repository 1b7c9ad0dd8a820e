"""A pool: the records of one source, or some of them, before they are dealt out to silos."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from discreet.data.growing import GrowingRows
from discreet.data.identity import Identities, Marks
from discreet.data.labels import Outcome
from discreet.data.records import Records

SILO = "(silo)"
"""The group that says whose record it is, where every silo has a table or arrays of its own."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Records of one source, all or some that follow on each other, with the public facts about them.

    Attributes:
        name: what to call the data.
        records: all records, or those for training if ``test`` is given.
        marks: what the public coins of ``records`` hang on.
        num_classes: labels are below this; `NUMBER` if they are places in the range of ``outcome``.
        test: the source's own test records; None if a fraction of ``records`` is to be held out.
        groups: columns that can name a record's silo, one value for each row of ``records``.
        own_silos: the column that says where records really are; None if the source does not know.
        feature_norm_bound: public bound on the L2 norm of every record, or None.
        feature_names: names of the features of flat records.
        attribution: who made the data and under which licence.
        outcome: the range of labels that are numbers; else None.
        notes: what the owner should know of cells and rows that could not be used; no message carries them.
        guessed_pixels: whether bytes were taken for pixels without anybody's word.
    """

    name: str
    records: Records
    marks: Marks
    num_classes: int
    test: Records | None = None
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    own_silos: str | None = None
    feature_norm_bound: float | None = None
    feature_names: tuple[str, ...] = ()
    attribution: str = ""
    notes: tuple[str, ...] = ()
    outcome: Outcome | None = None
    guessed_pixels: bool = False

    def emptied(self, notes: tuple[str, ...]) -> Pool:
        """Returns the same pool with other notes and without a record."""
        none = np.zeros(0, dtype=np.int64)
        groups = {name: tuple[str, ...]() for name in self.groups}
        records, marks = self.records.take(none), self.marks.take(none)
        return replace(self, records=records, marks=marks, groups=groups, notes=notes)


def whole(pools: Iterable[Pool]) -> Pool:
    """Returns one pool of all records of some pools of one source, at least one and without test records."""
    features, labels, places = GrowingRows(), GrowingRows(), GrowingRows()
    columns: list[GrowingRows] = []
    groups: dict[str, list[str]] = {}
    notes: list[str] = []
    for pool in pools:
        identities, last = pool.marks.identities, pool
        columns = columns or [GrowingRows() for _ in identities.columns]
        features.add(pool.records.features)
        labels.add(pool.records.labels)
        places.add(pool.marks.places)
        for column, own in zip(columns, identities.columns, strict=True):
            column.add(own[identities.rows])
        for name, cells in pool.groups.items():
            groups.setdefault(name, []).extend(cells)
        notes += pool.notes
    rows = np.arange(len(labels), dtype=np.int64)
    known = Identities(tuple(column.whole() for column in columns), rows)
    return replace(
        last,
        records=replace(last.records, features=features.whole(), labels=labels.whole()),
        marks=replace(last.marks, identities=known, places=places.whole()),
        groups=groups,
        notes=tuple(notes),
    )
