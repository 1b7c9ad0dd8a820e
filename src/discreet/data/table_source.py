"""Tables with public column rules become pools of flat records of bounded norm, some rows at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import add

import numpy as np

from discreet.arrays import Float32s, Floats, Integers
from discreet.data.columns import Column, encode, feature_names
from discreet.data.identity import Identities, Marks
from discreet.data.labels import NUMBER, Classes, Columns, LabelRule, NoLabel, Outcome, SeveralLabels
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
        label: the column to predict, or several; empty where nothing is predicted.
        classes: its possible texts; their order numbers the classes. None where it is a number. Of several
            labels the two texts of each.
        columns: which columns become features, and by which public rule.
        silo: the column that says which silo holds a record, or None; `SILO` for one table a silo.
        id: the column that says whose record it is, or None.
        persons: whether records of nobody are left out, and not one person's.
        outcome: the public range of a label that is a number; else None.
        asked: whether records are asked questions; how many there are needs no column.
    """

    label: Columns
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
        features = {column.column for column in self.columns}
        if both := [name for name in self.labels if name in features]:
            raise DataError(f"the label {both[0]!r} must not be a feature as well; remove it from features.")

    @property
    def rule(self) -> LabelRule:
        """How a label is read."""
        if not self.label:
            return NoLabel()
        if not isinstance(self.label, str):
            if len(self.classes) != 2:
                raise DataError(
                    f"several labels must have two classes each; got {len(self.classes)}. Name both values."
                )
            return SeveralLabels(self.label, (self.classes[0], self.classes[1]))
        return Classes(self.classes) if self.outcome is None else self.outcome

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns that are predicted."""
        if isinstance(self.label, str):
            return (self.label,) if self.label else ()
        return self.label

    @property
    def num_classes(self) -> int:
        """How many classes there are, or combinations of several labels; `NUMBER` of a label that is one."""
        if not isinstance(self.label, str):
            return 1 << len(self.label)
        return len(self.classes) if self.outcome is None else NUMBER

    @property
    def used(self) -> tuple[str, ...]:
        """The columns that are read."""
        silo = () if self.silo in (None, SILO) else (self.silo,)
        own = () if self.id is None else (self.id,)
        features = (column.column for column in self.columns)
        return tuple(dict.fromkeys((*self.labels, *features, *own, *silo)))


def _known(cell: str) -> str:
    """Returns a person's name; letters of another encoding would make several names one."""
    return "" if "\ufffd" in cell else person_name(cell)


@dataclass(slots=True)
class _Told:
    """What the owner of one file is told of it, from the rows that were read so far."""

    schema: TableSchema
    name: str = ""
    counts: Integers = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    found: tuple[Unusable, ...] = ()
    left_out: int = 0
    blank: int = 0
    foreign: int = 0
    ids: set[str] = field(default_factory=set)

    def add(self, table: Table, counts: Integers, unusable: tuple[Unusable, ...]) -> None:
        """Counts some rows."""
        self.name = table.name
        self.counts = self.counts + counts
        self.found = tuple(map(add, self.found, unusable)) if self.found else unusable
        self.left_out += table.left_out
        self.foreign += sum("\ufffd" in cell for cells in table.columns.values() for cell in cells)
        if self.schema.id is not None:
            cells = table.column(self.schema.id)
            self.blank += 0 if self.schema.persons else sum(not cell for cell in cells)
            if len(self.ids) <= len(self.counts):
                self.ids.update(filter(None, cells))

    def notes(self) -> tuple[str, ...]:
        """Returns the lines about the whole file."""
        schema, name, rows = self.schema, self.name, int(self.counts.sum())
        notes = [*left_out_note(name, self.left_out, rows), *encoding_note(name, self.foreign)]
        notes += schema.rule.notes(name, schema.label, self.counts)
        for column, unusable in zip(schema.columns, self.found, strict=True):
            notes += column.notes(name, rows, unusable)
        if schema.id is not None:
            distinct, few = len(self.ids), int((self.counts > 0).sum())
            notes += id_notes(name, schema.id, rows, blank=self.blank, distinct=distinct, few=few)
        return tuple(notes)


# A place in the second of several files of one silo is another place than in the first.
_FILE_BITS = 40


def pools_of_tables(
    tables: Mapping[str, Iterable[Table]],
    schema: TableSchema,
    *,
    name: str,
    feature_norm_bound: float | None,
    attribution: str = "",
) -> Iterator[Pool]:
    """Encodes every row by itself: public rules, a constant feature, then scaling to the norm bound.

    Without a bound the features stay as the rules make them, and there is no constant.

    A row whose label is none of the classes, or no number, is left out. Only the rows at hand are kept.

    Args:
        tables: the rows of each file, some at a time and at least once; by silo, if ``schema.silo``
            is `SILO`.
        schema: the public rules.
        name: what to call the data.
        feature_norm_bound: the public norm of every record; None if none is promised.
        attribution: who made the data.

    Yields:
        The records of each table; and after those of a file a pool of none, with what its owner is told.

    Raises:
        DataError: if a column is missing.
    """
    names = (*feature_names(schema.columns), *([] if feature_norm_bound is None else [CONSTANT]))
    for number, (silo, parts) in enumerate(tables.items()):
        told = _Told(schema)
        for table in parts:
            labels, counts = schema.rule.read(table, schema.label)
            encoded, unusable = encode(table, schema.columns)
            told.add(table, counts, unusable)
            usable = labels >= 0
            encoded, labels, kept = encoded[usable], labels[usable], table.take(usable)
            places = kept.places + ((0 if schema.silo == SILO else number) << _FILE_BITS)
            pool = Pool(
                name=name,
                records=Records(_scaled(encoded, feature_norm_bound), labels),
                marks=_marks(kept, schema, encoded, labels, places),
                num_classes=schema.num_classes,
                outcome=schema.outcome,
                groups=_groups(kept, schema, silo),
                own_silos=schema.silo,
                feature_norm_bound=feature_norm_bound,
                feature_names=names,
                attribution=attribution,
            )
            yield pool
        yield pool.emptied(told.notes())


def _scaled(encoded: Floats, feature_norm_bound: float | None) -> Float32s:
    if feature_norm_bound is None:
        return encoded.astype(np.float32)
    return scale_to_norm(with_constant(encoded), feature_norm_bound)


def _groups(table: Table, schema: TableSchema, silo: str) -> dict[str, tuple[str, ...]]:
    """Says which silo each row is of, if the tables say it; ``silo`` is whose table it is."""
    if schema.silo is None:
        return {}
    own = (silo,) * len(table) if schema.silo == SILO else table.column(schema.silo)
    return {schema.silo: own}


def _marks(table: Table, schema: TableSchema, encoded: Floats, labels: Integers, places: Integers) -> Marks:
    """Returns what tells the records apart."""
    if schema.id is None:
        return Marks(Identities.of_content(encoded, labels), places)
    cells = table.column(schema.id)
    known = [_known(cell) for cell in cells] if schema.persons else [spelling(cell) for cell in cells]
    return Marks(Identities.of_texts(known), places, named=True)
