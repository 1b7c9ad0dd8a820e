"""What a model says of the rows of a file: a class and the probability of every class, or a number."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from discreet.arrays import Floats
from discreet.data.labels import Outcome
from discreet.errors import ConfigurationError
from discreet.learning import evaluation
from discreet.learning.metrics import probabilities
from discreet.models import OrdinalHead
from discreet.quality import AnyQuality, assess, assess_numbers, called, shares_of_labels
from discreet.released.model import Model
from discreet.released.rows import answered, answered_labelled


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
        caveats: what is known of the model, whatever the rows are.
    """

    named: tuple[str, tuple[str, ...]]
    predictions: npt.NDArray[Any]
    classes: tuple[str, ...]
    probabilities: Floats
    notes: tuple[str, ...]
    labels: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()

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
        threshold: the probability from which on the second of two classes was called; None: the most
            probable class was.
        caveats: what is known of the model, whatever the rows are.
    """

    quality: AnyQuality
    loss: float | None
    notes: tuple[str, ...]
    threshold: float | None = None
    caveats: tuple[str, ...] = ()


def score_file(
    model: Model,
    path: str | Path,
    *,
    id_column: str | None = None,
    threshold: float | None = None,
    written: Mapping[str, str] = MappingProxyType({}),
) -> Scores:
    """Predicts the class, or number, of every row of a file; the file needs no label.

    Args:
        model: what predicts.
        path: a CSV or Parquet file, whose columns may stand in any order; or of a model over arrays an
            ``.npz`` file with the records in ``x``, as the training's source held them.
        id_column: names the rows, a column or an array; left out, they have their number, from 1.
        threshold: the probability from which on the second of two classes is predicted; left out, the most
            probable class is.
        written: separator, encoding and decimal of a CSV file; left out, they are guessed from its bytes.

    Raises:
        ConfigurationError: if the model has not two classes and a threshold is given, or the public weights
            of its feature map are not here.
        DataError: if the file cannot be read, a column is missing, or cells of a column hold texts and not
            one of them can be used.
    """
    _require_threshold(model, threshold)
    found = answered(model, Path(path), id_column, written)
    predictions, shares = _answers(model, found.logits, threshold)
    return Scores(
        named=("row" if id_column is None else id_column, found.names),
        predictions=predictions,
        classes=model.classes,
        probabilities=shares,
        notes=found.notes,
        labels=model.labels,
        caveats=_caveats(model, threshold),
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


def _caveats(model: Model, threshold: float | None) -> tuple[str, ...]:
    """Says what is known against the probabilities, and that the training called otherwise, if it did."""
    stated = None if model.plan.evaluating is None else model.plan.evaluating.threshold
    otherwise = (
        f"The most probable class is called here, {model.classes[1]} from 0.5 on; the training's evaluations "
        f"called it from {stated:g} on, and `--threshold {stated:g}` does."
        if stated is not None and threshold is None
        else ""
    )
    return tuple(filter(None, (otherwise, model.caveat)))


def _answers(model: Model, logits: torch.Tensor, threshold: float | None) -> tuple[npt.NDArray[Any], Floats]:
    """Returns what is predicted, and the probability of each class, if there are classes."""
    if model.outcome is not None:
        return _numbers(logits, model.outcome), np.empty((len(logits), 0))
    found = probabilities(logits)
    texts = np.array(model.classes, dtype=object)
    if model.labels:
        found = shares_of_labels(found)
        return texts[(found > 1.0 / 2.0).astype(np.int64)], found
    return texts[called(found, threshold)], found


def _numbers(logits: torch.Tensor, outcome: Outcome) -> Floats:
    return outcome.numbers(logits[:, 0].double().numpy())


def evaluate_file(
    model: Model,
    path: str | Path,
    *,
    by: Mapping[str, Sequence[float]] = MappingProxyType({}),
    threshold: float | None = None,
    written: Mapping[str, str] = MappingProxyType({}),
) -> Evaluated:
    """Compares predictions with the labels of a file; rows without a label are left out.

    Where persons were protected, the file's person column says whose the rows are, if it has one.

    Args:
        model: what predicts.
        path: a CSV or Parquet file; or of a model over arrays an ``.npz`` file with ``x`` and ``y``.
        by: columns; the quality is measured for each of their texts as well, or where edges are given, for
            the numbers between them.
        threshold: the probability from which on the second of two classes is called: confusion, recall,
            precision and accuracies are of that. Left out, the most probable class is.
        written: as of `score_file`.

    Raises:
        ConfigurationError: if the model has not two classes and a threshold is given, the public weights of
            the model's feature map are not here, or ``by`` is given of arrays.
        DataError: if the file cannot be read, a column is missing, or no row has a label.
    """
    _require_threshold(model, threshold)
    found = answered_labelled(model, Path(path), by, written)
    logits, outcome = found.logits, model.outcome
    if outcome is not None:
        right = outcome.read_back(found.labels)
        off = assess_numbers(_numbers(logits, outcome), right, groups=found.groups, owners=found.owners)
        return Evaluated(off, None, found.notes)
    quality = assess(
        probabilities(logits),
        found.labels,
        classes=None if model.labels else model.classes,
        groups=found.groups,
        owners=found.owners,
        ordinal=isinstance(model.network, OrdinalHead),
        several=model.labels,
        threshold=threshold,
    )
    loss = evaluation(logits, found.labels).loss
    return Evaluated(quality, loss, found.notes, threshold, _caveats(model, threshold))
