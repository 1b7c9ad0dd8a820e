"""What a model says of the rows of a file: a class and the probability of every class, or a number."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from discreet.arrays import Floats, Integers
from discreet.data.labels import Outcome
from discreet.data.rows import Counted
from discreet.errors import ConfigurationError, DataError
from discreet.learning import evaluation
from discreet.learning.metrics import probabilities
from discreet.models import OrdinalHead
from discreet.plan.uncalibrated import uncalibrated
from discreet.quality import AnyQuality, assess, assess_numbers, shares_of_labels
from discreet.quality.groups import between
from discreet.quality.owners import NOBODYS, Owners
from discreet.released.model import Model


@dataclass(frozen=True, slots=True)
class Scores:
    """Predictions for the rows of a file.

    Attributes:
        named: the column by which rows are named, and the name of each row.
        predictions: the class of each, by its text; or the number, shape ``(n,)``; of several
            labels, of each one, shape ``(n, K)``.
        classes: texts of the classes; none of a regression.
        probabilities: of each class, shape ``(n, len(classes))``; of several labels, of the second class of
            each, ``(n, K)``.
        notes: counts of cells and rows that could not be used as they are.
        labels: the columns that are predicted, where there are several.
    """

    named: tuple[str, tuple[str, ...]]
    predictions: npt.NDArray[Any]
    classes: tuple[str, ...]
    probabilities: Floats
    notes: tuple[str, ...]
    labels: tuple[str, ...] = ()

    def as_csv(self) -> str:
        """Returns a table: the row's name, its prediction, and every probability in full."""
        column, names = self.named
        written = io.StringIO()
        table = csv.writer(written, lineterminator="\n")
        said = ["prediction", *(f"probability of {text}" for text in self.classes)]
        if self.labels:
            second = self.classes[1]
            said = [*self.labels, *(f"probability of {label} = {second}" for label in self.labels)]
        table.writerow([column, *said])
        answers = self.predictions.reshape(len(names), -1)
        found = zip(names, answers.tolist(), self.probabilities.tolist(), strict=True)
        table.writerows([name, *own, *row] for name, own, row in found)
        return written.getvalue()


@dataclass(frozen=True, slots=True)
class Evaluated:
    """How good a model is on the labelled rows of a file: exact functions of the file, and not private.

    Attributes:
        quality: on the rows whose label is a class, or a number.
        loss: mean log loss of these rows; None of a regression.
        notes: counts of cells and rows that could not be used as they are.
    """

    quality: AnyQuality
    loss: float | None
    notes: tuple[str, ...]


def score_file(
    model: Model,
    path: str | Path,
    *,
    id_column: str | None = None,
    threshold: float | None = None,
    written: Mapping[str, str] = MappingProxyType({}),
) -> Scores:
    """Predicts the class, or number, of every row of a CSV or Parquet file; the file needs no label.

    Args:
        model: what predicts.
        path: the file; its columns may stand in any order.
        id_column: names the rows; left out, they have their number in the file, from 1.
        threshold: the probability from which on the second of two classes is predicted; left out, the most
            probable class is.
        written: separator, encoding and decimal of a CSV file; left out, they are guessed from its bytes.

    Raises:
        ConfigurationError: if the model was not trained on tables, or it has not two classes and a threshold
            is given.
        DataError: if the file cannot be read, a column is missing, or cells of a column hold texts and not
            one of them can be used.
    """
    rules = model.require_rules()
    _require_threshold(model, threshold)
    used = [*rules.used, *([id_column] if id_column is not None else [])]
    (file, told), names = rules.file(Path(path), written), list[str]()
    outputs, counted = list[torch.Tensor](), list[Counted]()
    for table in file.tables(used):
        features, found = rules.features(table)
        outputs.append(model.outputs(features))
        counted.append(found)
        places = (str(place + 1) for place in table.places.tolist())
        names += places if id_column is None else table.column(id_column)
    rules.require_readable(file.name, counted)
    predictions, shares = _answers(model, torch.cat(outputs), threshold)
    called = _how_called(model) if threshold is None else ()
    return Scores(
        named=("row" if id_column is None else id_column, tuple(names)),
        predictions=predictions,
        classes=model.classes,
        probabilities=shares,
        notes=(*told, *rules.notes(file, used, counted), *called, *_how_sure(model)),
        labels=model.labels,
    )


def _require_threshold(model: Model, threshold: float | None) -> None:
    if threshold is None:
        return
    if model.labels or len(model.classes) != 2:
        raise ConfigurationError(
            "'threshold' must be left out where there are not two classes of one label: then the most "
            "probable one is predicted."
        )
    if not 0.0 < threshold < 1.0:
        raise ConfigurationError(f"'threshold' must be between 0 and 1; got {threshold:g}.")


def _how_sure(model: Model) -> tuple[str, ...]:
    """Says what is known against the model's probabilities."""
    return tuple(filter(None, [uncalibrated(model.plan)]))


def _how_called(model: Model) -> tuple[str, ...]:
    """Says that evaluations of the training called otherwise, if they did."""
    stated = None if model.plan.evaluating is None else model.plan.evaluating.threshold
    if stated is None:
        return ()
    return (
        f"The most probable class is called here, {model.classes[1]} from 0.5 on; the training's evaluations "
        f"called it from {stated:g} on, and `discreet predict --threshold {stated:g}` does.",
    )


def _answers(model: Model, logits: torch.Tensor, threshold: float | None) -> tuple[npt.NDArray[Any], Floats]:
    """Returns what is predicted, and the probability of each class, if there are classes."""
    if model.outcome is not None:
        return _numbers(logits, model.outcome), np.empty((len(logits), 0))
    found = probabilities(logits)
    texts = np.array(model.classes, dtype=object)
    if model.labels:
        found = shares_of_labels(found)
        return texts[(found > 1.0 / 2.0).astype(np.int64)], found
    called = found.argmax(axis=1) if threshold is None else (found[:, 1] >= threshold).astype(np.int64)
    return texts[called], found


def _numbers(logits: torch.Tensor, outcome: Outcome) -> Floats:
    return outcome.numbers(logits[:, 0].double().numpy())


def evaluate_file(
    model: Model,
    path: str | Path,
    *,
    by: Mapping[str, Sequence[float]] = MappingProxyType({}),
    written: Mapping[str, str] = MappingProxyType({}),
) -> Evaluated:
    """Compares predictions with the label column of a CSV or Parquet file; rows without a label are left out.

    Where persons were protected, the file's person column says whose the rows are, if it has one.

    Args:
        model: what predicts.
        path: the file.
        by: columns; the quality is measured for each of their texts as well, or where edges are given, for
            the numbers between them.
        written: as of `score_file`.

    Raises:
        ConfigurationError: if the model was not trained on tables.
        DataError: if the file cannot be read, a column is missing, or no row has a label.
    """
    rules = model.require_rules()
    (file, told), counted = rules.file(Path(path), written), list[Counted]()
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
        outputs.append(model.outputs(features))
        counted.append(replace(found, left_out=table.left_out))
        every.append(labels)
        for column, edges in by.items():
            groups[column] += between(known.numbers(column), edges) if edges else known.column(column)
        for column in whose:
            names += known.column(column)
    labels, logits = np.concatenate(every), torch.cat(outputs)
    notes = (*told, *rules.label_notes(file.name, tally), *rules.notes(file, used, counted))
    notes = (*notes, *_how_called(model))
    if person is not None and not whose:
        alone = f"there is no column {person.column!r}, so every row is taken for another person's"
        notes = (*notes, f"{file.name}: {alone}.")
    owners = Owners(np.unique(names, return_inverse=True)[1]) if whose else NOBODYS
    if not (labels >= 0).any():
        what = "a class" if model.outcome is None else "a number"
        nothing = DataError(f"{file.name}: one row at least must have a label that is {what}; none has.")
        for note in notes:
            nothing.add_note(note)
        raise nothing
    right, outcome = labels[labels >= 0], model.outcome
    if outcome is not None:
        off = assess_numbers(
            _numbers(logits, outcome), outcome.read_back(right), groups=groups, owners=owners
        )
        return Evaluated(off, None, notes)
    quality = assess(
        probabilities(logits),
        right,
        classes=None if model.labels else model.classes,
        groups=groups,
        owners=owners,
        ordinal=isinstance(model.network, OrdinalHead),
        several=model.labels,
    )
    return Evaluated(quality, evaluation(logits, right).loss, notes)
