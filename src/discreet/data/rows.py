"""Rows of new tables, read by the rules of a training: to predict their labels, or to compare them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from operator import add
from pathlib import Path

from discreet.arrays import Float32s, Integers
from discreet.data.bundled import SCHEMAS
from discreet.data.columns import Column, encode
from discreet.data.csv_file import CsvFile
from discreet.data.dialect import COMMAS, Dialect
from discreet.data.facts import PublicFacts
from discreet.data.look import guessed_file
from discreet.data.norm import scale_to_norm, with_constant
from discreet.data.remarks import left_out_note, unused_note
from discreet.data.table import Table
from discreet.data.table_files import Source, TableFile
from discreet.data.table_source import TableSchema
from discreet.data.unusable import Unusable, without_advice
from discreet.errors import DataError


@dataclass(frozen=True, slots=True)
class Counted:
    """What is told of some rows: how many there are and were left out, what each column could not read."""

    rows: int
    left_out: int
    unusable: tuple[Unusable, ...]


@dataclass(frozen=True, slots=True)
class TableRules:
    """The public rules that turned a training's tables into records; each row is read by itself.

    Attributes:
        schema: label, classes and feature columns.
        norm_bound: the L2 norm that every record is scaled to.
        dialect: how CSV files are written.
    """

    schema: TableSchema
    norm_bound: float
    dialect: Dialect = COMMAS

    @property
    def used(self) -> tuple[str, ...]:
        """The columns that become features."""
        return tuple(column.column for column in self.schema.columns)

    def features(self, table: Table) -> tuple[Float32s, Counted]:
        """Returns the features of every row, shape ``(n, d)``, and what could not be read.

        Raises:
            DataError: if a column is missing.
        """
        encoded, unusable = encode(table, self.schema.columns)
        found = scale_to_norm(with_constant(encoded), self.norm_bound)
        return found, Counted(len(table), table.left_out, unusable)

    def labels(self, table: Table) -> tuple[Integers, Integers]:
        """Returns the label of every row, shape ``(n,)``, -1 for none, and counts for `label_notes`.

        Raises:
            DataError: if there is no label column.
        """
        return self.schema.rule.read(table, self.schema.label)

    def label_notes(self, name: str, counts: Integers) -> tuple[str, ...]:
        """Returns counts of rows that are left out or clipped for their label."""
        return without_advice(self.schema.rule.notes(name, self.schema.label, counts))

    def file(self, path: Path, written: Mapping[str, str]) -> tuple[TableFile, tuple[str, ...]]:
        """Returns a file of rows, Parquet if its name ends in ``.parquet``, else CSV; and how it is read.

        These rows train nothing, so how a CSV file is written may be guessed from them where ``written``
        does not say it; a line tells of a guess that differs from the training's files.

        Raises:
            DataError: if the file cannot be read, or what is stated does not fit together.
        """
        found = guessed_file(path, self.dialect)
        if not isinstance(found, CsvFile):
            return found, ()
        one = replace(found.dialect, **written)
        if len(written) == len(fields(Dialect)) or one == self.dialect:
            return CsvFile(path, one), ()
        return CsvFile(path, one), (
            f"{path.name} is read with separator {one.separator!r}, encoding {one.encoding!r} and decimal "
            f"{one.decimal!r}, a guess. Say otherwise with --separator, --encoding and --decimal.",
        )

    def notes(self, file: TableFile, used: Iterable[str], counted: Sequence[Counted]) -> tuple[str, ...]:
        """Returns counts of the cells and rows of a file that could not be used as they are."""
        rows = sum(part.rows for part in counted)
        notes = [*left_out_note(file.name, sum(part.left_out for part in counted), rows)]
        for column, found in self._by_column(counted):
            notes += without_advice(column.notes(file.name, rows, found))
        return (*notes, *unused_note(file.name, file.header(), used))

    def unknown(self, name: str, counted: Sequence[Counted]) -> tuple[str, ...]:
        """Returns a line for each column in which cells hold texts that its rule does not know.

        Blank cells by themselves are no reason: where something is missing, that is meant.
        """
        rows = sum(part.rows for part in counted)
        return tuple(
            note
            for column, found in self._by_column(counted)
            if found.unread > found.blank
            for note in without_advice(column.notes(name, rows, replace(found, outside=0)))
        )

    def require_readable(self, name: str, counted: Sequence[Counted]) -> None:
        """Refuses rows among which not one cell of a column can be used, though some hold a text.

        Raises:
            DataError: naming the column.
        """
        rows = sum(part.rows for part in counted)
        for column, found in self._by_column(counted):
            if found.unread == rows and found.unread > found.blank:
                (note,) = without_advice(column.notes(name, rows, replace(found, outside=0)))
                raise DataError(
                    f"a column must hold one cell at least that can be used; {note} Spell its cells as in "
                    "the plan, or leave them empty."
                )

    def _by_column(self, counted: Sequence[Counted]) -> Iterator[tuple[Column, Unusable]]:
        found = zip(*(part.unusable for part in counted), strict=True)
        for column, parts in zip(self.schema.columns, found, strict=True):
            yield column, reduce(add, parts)


def table_rules(source: Source, facts: PublicFacts) -> TableRules | None:
    """Returns the rules by which a source is read; None if it is no table, or no model is trained on it.

    Raises:
        DataError: if what is stated does not fit together.
    """
    norm_bound = facts.norm_bound()
    if norm_bound is None:
        return None
    if isinstance(source, str) and source in SCHEMAS:
        return TableRules(SCHEMAS[source], norm_bound=1.0)
    if facts.label is None:
        return None
    name = source if isinstance(source, str) else "the tables"
    return TableRules(facts.schema(name, silo=None), norm_bound, facts.dialects.common)
