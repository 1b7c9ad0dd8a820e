"""Rows of a file as a model answers them: of a table, or of arrays in an ``.npz`` file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch

from discreet.arrays import Integers
from discreet.data import TableRules
from discreet.data.npz_source import rows_of_npz
from discreet.data.rows import Counted
from discreet.errors import ConfigurationError, DataError
from discreet.quality.groups import between
from discreet.quality.owners import NOBODYS, Owners
from discreet.released.model import Model

_NO_LABELS = np.zeros(0, dtype=np.int64)
_NPZ = ".npz"


@dataclass(frozen=True, slots=True)
class Answered:
    """What a model says of some rows.

    Attributes:
        logits: of each row; of rows with a label alone, where labels are asked for.
        notes: counts of cells and rows that could not be used as they are.
        names: of each row, where no labels are asked for.
        labels: of each row, where they are.
        groups: to which group of each column a row belongs.
        owners: whose the rows are.
    """

    logits: torch.Tensor
    notes: tuple[str, ...]
    names: tuple[str, ...] = ()
    labels: Integers = field(default_factory=_NO_LABELS.copy)
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    owners: Owners = NOBODYS


def answered(model: Model, path: Path, named_by: str | None, written: Mapping[str, str]) -> Answered:
    """Answers every row of a file.

    Args:
        model: what answers.
        path: a CSV or Parquet file; of a model over arrays an ``.npz`` file with ``x``.
        named_by: the column, or array, that names the rows; None numbers them from 1.
        written: how a CSV file is written, where it is stated.

    Raises:
        ConfigurationError: if the public weights of the model's feature map are not here, or ``written`` is
            given of arrays.
        DataError: if the file cannot be read, or does not fit.
    """
    model.require_records()
    if model.rules is None:
        rows = rows_of_npz(_arrays_alone(path, written), labelled=False, named_by=named_by)
        logits = model.outputs(model.features_of_arrays(rows.features))
        numbers = tuple(str(place + 1) for place in range(len(logits)))
        notes = (*rows.notes, *model.undivided(rows.features, path.name), *model.notes())
        return Answered(logits, notes, rows.named or numbers)
    rules = model.rules
    used = [*rules.used, *([named_by] if named_by is not None else [])]
    (file, told), names = rules.file(path, written), list[str]()
    outputs, counted = list[torch.Tensor](), list[Counted]()
    for table in file.tables(used):
        features, found = rules.features(table)
        outputs.append(model.outputs(model.mapped(features)))
        counted.append(found)
        places = (str(place + 1) for place in table.places.tolist())
        names += places if named_by is None else table.column(named_by)
    rules.require_readable(file.name, counted)
    notes = (*told, *rules.notes(file, used, counted), *model.notes())
    return Answered(torch.cat(outputs), notes, tuple(names))


def answered_labelled(
    model: Model, path: Path, by: Mapping[str, Sequence[float]], written: Mapping[str, str]
) -> Answered:
    """Answers the rows of a file that have a label.

    Args:
        model: what answers.
        path: a CSV or Parquet file; of a model over arrays an ``.npz`` file with ``x`` and ``y``.
        by: columns of groups, and the edges between them, if there are any.
        written: as of `answered`.

    Raises:
        ConfigurationError: as `answered`, or if groups are asked for of arrays.
        DataError: if the file cannot be read, a column is missing, or no row has a label.
    """
    model.require_records()
    if model.rules is None:
        found = _of_arrays(model, path, by, written)
    else:
        found = _of_table(model, model.rules, path, by, written)
    if not len(found.labels):
        what = "a class" if model.outcome is None else "a number"
        raise DataError.with_notes(
            f"{path.name}: one row at least must have a label that is {what}; none has.", found.notes
        )
    return found


def _of_table(
    model: Model,
    rules: TableRules,
    path: Path,
    by: Mapping[str, Sequence[float]],
    written: Mapping[str, str],
) -> Answered:
    (file, told), counted = rules.file(path, written), list[Counted]()
    person = model.plan.data.person
    whose = [] if person is None else [column for column in file.header() if column == person.column]
    used = [*rules.used, *rules.schema.labels, *by, *whose]
    names = list[str]()
    outputs, every, tally = list[torch.Tensor](), list[Integers](), np.zeros(1, dtype=np.int64)
    groups: dict[str, list[str]] = {column: [] for column in by}
    for table in file.tables(used):
        labels, counts = rules.labels(table)
        tally = tally + counts
        known = table.take(labels >= 0)
        features, found = rules.features(known)
        outputs.append(model.outputs(model.mapped(features)))
        counted.append(replace(found, left_out=table.left_out))
        every.append(labels[labels >= 0])
        for column, edges in by.items():
            groups[column] += between(known.numbers(column), edges) if edges else known.column(column)
        for column in whose:
            names += known.column(column)
    notes = (*told, *rules.label_notes(file.name, tally), *rules.notes(file, used, counted), *model.notes())
    owners, alone = _owners(model, file.name, names if whose else None)
    return Answered(
        torch.cat(outputs), (*notes, *alone), labels=np.concatenate(every), groups=groups, owners=owners
    )


def _of_arrays(
    model: Model, path: Path, by: Mapping[str, Sequence[float]], written: Mapping[str, str]
) -> Answered:
    if by:
        raise ConfigurationError(
            f"--by must be left out of arrays, which have no columns; got {', '.join(by)}. Write the records "
            "of each group into an .npz file of its own, and evaluate each."
        )
    person = model.plan.data.person
    column = None if person is None else person.column
    path = _arrays_alone(path, written)
    rows = rows_of_npz(path, labelled=True, named_by=column, needed=False)
    known = (rows.labels >= 0) & (rows.labels < model.plan.facts.num_classes)
    notes = (*rows.notes, *model.undivided(rows.features, path.name))
    if count := int((~known).sum()):
        notes += (
            f"{path.name}: {count} of {len(known)} labels are not in [0, {model.plan.facts.num_classes}); "
            "these rows are left out.",
        )
    logits = model.outputs(model.features_of_arrays(rows.features[known]))
    named = None if rows.named is None else np.asarray(rows.named)[known].tolist()
    owners, alone = _owners(model, path.name, named)
    return Answered(logits, (*notes, *model.notes(), *alone), labels=rows.labels[known], owners=owners)


def _owners(model: Model, file: str, names: Sequence[str] | None) -> tuple[Owners, tuple[str, ...]]:
    """Returns whose rows are; a note where persons were protected and the file does not say it."""
    person = model.plan.data.person
    if names is not None:
        return Owners(np.unique(names, return_inverse=True)[1]), ()
    if person is None:
        return NOBODYS, ()
    alone = f"there is no column {person.column!r}, so every row is taken for another person's"
    return NOBODYS, (f"{file}: {alone}.",)


def _arrays_alone(path: Path, written: Mapping[str, str]) -> Path:
    """Returns the path of a file of arrays, of which nothing has to be stated."""
    if path.suffix != _NPZ or written:
        got = path.name if path.suffix != _NPZ else f"--{next(iter(written))}"
        raise ConfigurationError(
            f"the model must be given an {_NPZ} file, since it takes arrays and not tables; got {got}. Put "
            "records into x, and the labels of an evaluation into y."
        )
    return path
