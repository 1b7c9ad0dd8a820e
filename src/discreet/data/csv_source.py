"""Tables with public column rules become pools of flat records of bounded norm."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.data.columns import Column, category_numbers, encode
from discreet.data.identity import Identities, Marks
from discreet.data.norm import scale_to_norm, with_constant
from discreet.data.pool import Pool
from discreet.data.records import Records
from discreet.data.remarks import id_notes, label_notes
from discreet.data.spelling import identifier, spelling
from discreet.data.table import Table
from discreet.errors import DataError

CONSTANT = "constant"


@dataclass(frozen=True, slots=True)
class TableSchema:
    """Public facts about a table.

    Attributes:
        label: the column to predict.
        classes: its possible texts; their order numbers the classes.
        columns: which columns become features, and by which public rule.
        silo: the column that says which silo holds a record, or None.
        id: the column that says whose record it is, or None.
    """

    label: str
    classes: tuple[str, ...]
    columns: tuple[Column, ...]
    silo: str | None
    id: str | None = None

    def __post_init__(self) -> None:
        if not self.columns:
            raise DataError("at least one feature column must be given, with its public range; got none.")
        if not len(set(map(spelling, self.classes))) == len(self.classes) >= 2:
            raise DataError(f"there must be at least two distinct classes; got {len(self.classes)}.")
        if self.label in {column.column for column in self.columns}:
            raise DataError(
                f"the label {self.label!r} must not be a feature as well; remove it from features."
            )


def pool_of_table(
    table: Table, schema: TableSchema, *, feature_norm_bound: float, attribution: str = ""
) -> Pool:
    """Encodes every row by itself: public rules, a constant feature, then scaling to the norm bound.

    A row whose label is none of the classes is left out.

    Raises:
        DataError: if a column is missing.
    """
    labels = category_numbers(table, schema.label, schema.classes)
    notes = [*table.notes, *label_notes(table, schema.label, schema.classes, labels)]
    features, names, of_cells = encode(table, schema.columns)
    notes += of_cells
    if schema.id is not None:
        notes += id_notes(table, schema.id, labels)
    known = labels >= 0
    table, features, labels = table.take(known), features[known], labels[known]
    ids = None if schema.id is None else [identifier(cell) for cell in table.column(schema.id)]
    identities = Identities.of_content(features, labels) if ids is None else Identities.of_texts(ids)
    return Pool(
        name=table.name,
        records=Records(scale_to_norm(with_constant(features), feature_norm_bound), labels),
        marks=Marks(identities, table.places, named=ids is not None),
        num_classes=len(schema.classes),
        groups=table.columns,
        own_silos=schema.silo,
        feature_norm_bound=feature_norm_bound,
        feature_names=(*names, CONSTANT),
        attribution=attribution,
        notes=tuple(notes),
    )
