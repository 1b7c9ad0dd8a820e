"""What a model says of the rows of a file: a class for each, and the probability of every class."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from discreet.arrays import Floats, Integers
from discreet.data import TableRules
from discreet.data.remarks import label_notes
from discreet.data.rows import Counted
from discreet.errors import DataError
from discreet.learning import evaluation
from discreet.learning.metrics import probabilities
from discreet.quality import Quality, assess
from discreet.released.model import Model


@dataclass(frozen=True, slots=True)
class Scores:
    """Predictions for the rows of a file.

    Attributes:
        named: the column by which rows are named, and the name of each row.
        classes: texts of the classes.
        probabilities: of each class, shape ``(n, len(classes))``.
        notes: counts of cells and rows that could not be used as they are.
    """

    named: tuple[str, tuple[str, ...]]
    classes: tuple[str, ...]
    probabilities: Floats
    notes: tuple[str, ...]

    def as_csv(self) -> str:
        """Returns a table: the row's name, its most probable class, and every probability in full."""
        column, names = self.named
        written = io.StringIO()
        table = csv.writer(written, lineterminator="\n")
        table.writerow([column, "prediction", *(f"probability of {text}" for text in self.classes)])
        chosen = self.probabilities.argmax(axis=1).tolist()
        for name, place, row in zip(names, chosen, self.probabilities.tolist(), strict=True):
            table.writerow([name, self.classes[place], *row])
        return written.getvalue()


@dataclass(frozen=True, slots=True)
class Evaluated:
    """How good a model is on the labelled rows of a file: exact functions of the file, and not private.

    Attributes:
        quality: on the rows whose label is a class.
        loss: mean log loss of these rows.
        notes: counts of cells and rows that could not be used as they are.
    """

    quality: Quality
    loss: float
    notes: tuple[str, ...]


def score_file(model: Model, path: Path, *, id_column: str | None = None) -> Scores:
    """Predicts the class of every row of a CSV or Parquet file; the file needs no label.

    Args:
        model: what predicts.
        path: the file; its columns may stand in any order.
        id_column: names the rows; left out, they have their number in the file, from 1.

    Raises:
        ConfigurationError: if the model was not trained on tables.
        DataError: if the file cannot be read, or a column is missing.
    """
    rules = model.require_rules()
    used = [*rules.used, *([id_column] if id_column is not None else [])]
    file, names = rules.file(path), list[str]()
    probabilities, counted = list[Floats](), list[Counted]()
    for table in file.tables(used):
        features, found = rules.features(table)
        probabilities.append(model.probabilities(features))
        counted.append(found)
        places = (str(place + 1) for place in table.places.tolist())
        names += places if id_column is None else table.column(id_column)
    return Scores(
        named=("row" if id_column is None else id_column, tuple(names)),
        classes=model.classes,
        probabilities=np.concatenate(probabilities),
        notes=rules.notes(file, used, counted),
    )


def evaluate_file(model: Model, path: Path, *, by: Sequence[str] = ()) -> Evaluated:
    """Compares predictions with the label column of a CSV or Parquet file; rows without a label are left out.

    Args:
        model: what predicts.
        path: the file.
        by: columns of texts; the quality is measured for each text of them as well.

    Raises:
        ConfigurationError: if the model was not trained on tables.
        DataError: if the file cannot be read, a column is missing, or no row has a label.
    """
    rules = model.require_rules()
    used = [*rules.used, rules.schema.label, *by]
    file, counted = rules.file(path), list[Counted]()
    outputs, every = list[torch.Tensor](), list[Integers]()
    groups: dict[str, list[str]] = {column: [] for column in by}
    for table in file.tables(used):
        labels = rules.labels(table)
        known = table.take(labels >= 0)
        features, found = rules.features(known)
        outputs.append(model.outputs(features))
        counted.append(replace(found, left_out=table.left_out))
        every.append(labels)
        for column in by:
            groups[column] += known.column(column)
    labels, logits = np.concatenate(every), torch.cat(outputs)
    notes = (*_label_notes(rules, file.name, labels), *rules.notes(file, used, counted))
    if not (labels >= 0).any():
        nothing = DataError(f"{file.name}: one row at least must have a label that is a class; none has.")
        for note in notes:
            nothing.add_note(note)
        raise nothing
    right = labels[labels >= 0]
    quality = assess(probabilities(logits), right, classes=model.classes, groups=groups)
    return Evaluated(quality, evaluation(logits, right).loss, notes)


def _label_notes(rules: TableRules, name: str, labels: Integers) -> tuple[str, ...]:
    """Counts the rows that are left out for their label, and names classes that nobody is in."""
    schema = rules.schema
    counts = np.bincount(np.where(labels < 0, len(schema.classes), labels), minlength=len(schema.classes) + 1)
    return label_notes(name, schema.label, schema.classes, counts)
