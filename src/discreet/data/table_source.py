"""Tables with public column rules become pools of flat records of bounded norm, some rows at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import add

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.data.columns import Column, encode, feature_names
from discreet.data.growing import GrowingRows
from discreet.data.identity import Identities, Marks
from discreet.data.labels import NUMBER, Classes, LabelRule, NoLabel, Outcome
from discreet.data.norm import scale_to_norm, with_constant
from discreet.data.pool import SILO, Pool
from discreet.data.records import Records
from discreet.data.remarks import encoding_note, id_notes, left_out_note
from discreet.data.spelling import person_name, spelling
from discreet.data.table import Table
from discreet.data.unusable import Unusable
from discreet.errors import DataError

CONSTANT = "constant"


@dataclass(frozen=True, slots=True)
class TableSchema:
    """Public facts about a table.

    Attributes:
        label: the column to predict; empty where nothing is predicted.
        classes: its possible texts; their order numbers the classes. None where it is a number.
        columns: which columns become features, and by which public rule.
        silo: the column that says which silo holds a record, or None; `SILO` for one table a silo.
        id: the column that says whose record it is, or None.
        persons: whether records of nobody are left out, and not one person's.
        outcome: the public range of a label that is a number; else None.
        asked: whether records are asked questions; how many there are needs no column.
    """

    label: str
    classes: tuple[str, ...]
    columns: tuple[Column, ...]
    silo: str | None
    id: str | None = None
    persons: bool = False
    outcome: Outcome | None = None
    asked: bool = False

    def __post_init__(self) -> None:
        if not (self.columns or self.asked):
            raise DataError("at least one feature column must be given, with its public range; got none.")
        if self.outcome is not None and self.classes:
            raise DataError("a label with a range must be without classes; got both.")
        _ = self.rule
        if self.label in {column.column for column in self.columns}:
            raise DataError(
                f"the label {self.label!r} must not be a feature as well; remove it from features."
            )

    @property
    def rule(self) -> LabelRule:
        """How a label is read."""
        if not self.label:
            return NoLabel()
        return Classes(self.classes) if self.outcome is None else self.outcome

    @property
    def num_classes(self) -> int:
        """How many classes there are; `NUMBER` where the label is a number."""
        return len(self.classes) if self.outcome is None else NUMBER

    @property
    def used(self) -> tuple[str, ...]:
        """The columns that are read."""
        silo = () if self.silo in (None, SILO) else (self.silo,)
        own = () if self.id is None else (self.id,)
        features = (column.column for column in self.columns)
        label = (self.label,) if self.label else ()
        return tuple(dict.fromkeys((*label, *features, *own, *silo)))


def _known(cell: str) -> str:
    """Returns a person's name; letters of another encoding would make several names one."""
    return "" if "\ufffd" in cell else person_name(cell)


@dataclass(slots=True)
class _Gathered:
    """The records of some tables, part by part, and of the table at hand what its owner is told."""

    schema: TableSchema
    feature_norm_bound: float | None
    encoded: GrowingRows = field(default_factory=GrowingRows)
    features: GrowingRows = field(default_factory=GrowingRows)
    labels: GrowingRows = field(default_factory=GrowingRows)
    places: GrowingRows = field(default_factory=GrowingRows)
    silos: list[str] = field(default_factory=list)
    ids: list[Identities] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add_file(self, silo: str, number: int, tables: Iterable[Table]) -> None:
        """Reads the rows of one file."""
        schema, few = self.schema, 0
        counts = np.zeros(1, dtype=np.int64)
        found: list[tuple[Unusable, ...]] = []
        left_out, blank, foreign = 0, 0, 0
        known: set[str] = set()
        for table in tables:
            name, rows = table.name, len(table)
            labels, own = schema.rule.read(table, schema.label)
            counts = counts + own
            encoded, unusable = encode(table, schema.columns)
            found.append(unusable)
            left_out += table.left_out
            foreign += sum("\ufffd" in cell for cells in table.columns.values() for cell in cells)
            if schema.id is not None:
                cells = table.column(schema.id)
                blank += 0 if schema.persons else sum(not cell for cell in cells)
                if len(known) <= len(counts):
                    known.update(filter(None, cells))
            self._add(table, silo, number, labels, encoded)
        rows, few = int(counts.sum()), int((counts > 0).sum())
        self.notes += left_out_note(name, left_out, rows)
        self.notes += encoding_note(name, foreign)
        self.notes += schema.rule.notes(name, schema.label, counts)
        for column, parts in zip(schema.columns, zip(*found, strict=True), strict=True):
            self.notes += column.notes(name, rows, reduce(add, parts))
        if schema.id is not None:
            self.notes += id_notes(name, schema.id, rows, blank=blank, distinct=len(known), few=few)

    def _add(self, table: Table, silo: str, number: int, labels: Integers, encoded: Floats) -> None:
        """Keeps the rows whose label is a class, or a number."""
        usable = labels >= 0
        table, encoded, labels = table.take(usable), encoded[usable], labels[usable]
        schema = self.schema
        if schema.id is None:
            self.encoded.add(encoded)
        else:
            cells = table.column(schema.id)
            known = [_known(cell) for cell in cells] if schema.persons else [spelling(cell) for cell in cells]
            self.ids.append(Identities.of_texts(known))
        if self.feature_norm_bound is None:
            self.features.add(encoded.astype(np.float32))
        else:
            self.features.add(scale_to_norm(with_constant(encoded), self.feature_norm_bound))
        self.labels.add(labels)
        self.places.add(table.places + (number << _FILE_BITS))
        if schema.silo == SILO:
            self.silos += [silo] * len(labels)
        elif schema.silo is not None:
            self.silos += table.column(schema.silo)

    def marks(self, labels: Integers) -> Marks:
        """Returns what tells the records apart."""
        places = self.places.whole()
        if self.schema.id is not None:
            rows = np.concatenate([part.columns[0] for part in self.ids])
            return Marks(Identities((rows,), np.arange(len(rows), dtype=np.int64)), places, named=True)
        return Marks(Identities.of_content(self.encoded.whole(), labels), places)


# A place in the second of several files of one silo is another place than in the first.
_FILE_BITS = 40


def pool_of_tables(
    tables: Mapping[str, Iterable[Table]],
    schema: TableSchema,
    *,
    name: str,
    feature_norm_bound: float | None,
    attribution: str = "",
) -> Pool:
    """Encodes every row by itself: public rules, a constant feature, then scaling to the norm bound.

    Without a bound the features stay as the rules make them, and there is no constant.

    A row whose label is none of the classes, or no number, is left out. Only the rows at hand are kept as
    text.

    Args:
        tables: the rows of each file, some at a time and at least once; by silo, if ``schema.silo``
            is `SILO`.
        schema: the public rules.
        name: what to call the data.
        feature_norm_bound: the public norm of every record; None if none is promised.
        attribution: who made the data.

    Raises:
        DataError: if a column is missing.
    """
    gathered = _Gathered(schema, feature_norm_bound)
    for number, (silo, parts) in enumerate(tables.items()):
        gathered.add_file(silo, 0 if schema.silo == SILO else number, parts)
    labels = gathered.labels.whole()
    return Pool(
        name=name,
        records=Records(gathered.features.whole(), labels),
        marks=gathered.marks(labels),
        num_classes=schema.num_classes,
        outcome=schema.outcome,
        groups={} if schema.silo is None else {schema.silo: gathered.silos},
        own_silos=schema.silo,
        feature_norm_bound=feature_norm_bound,
        feature_names=(*feature_names(schema.columns), *([] if feature_norm_bound is None else [CONSTANT])),
        attribution=attribution,
        notes=tuple(gathered.notes),
    )
