"""Measuring a model on held-out records: for simulations, never private, never part of a guarantee."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from discreet.arrays import Float32s, Floats, Integers
from discreet.data import Federation
from discreet.data.labels import Outcome
from discreet.learning.losses import number_losses
from discreet.learning.metrics import base_rate, evaluation, is_right, logits, probabilities
from discreet.models import OrdinalHead, labels_of, load_flat
from discreet.quality import AnyQuality, assess, assess_numbers, shares_of_labels
from discreet.quality.groups import BLANK
from discreet.quality.levels import assess_levels
from discreet.quality.owners import Owners
from discreet.quality.ranking import area_under_roc

# A column of many categories would have groups of few records each.
_MOST_CATEGORIES = 12
_MOST_COLUMNS = 20


def measure(model: nn.Module, federation: Federation, parameters: Floats) -> dict[str, float]:
    """Returns loss, accuracy, AUC (two classes) over all held-out records, and accuracy in each silo.

    Beside the accuracy stands the base rate: that of a model which always names the commonest class.

    Where the label is a number, the loss is half the squared error, in units of half the range; and in place
    of the accuracy is the mean absolute error, in the label's unit, beside that of the best constant. Where
    classes are levels, beside the accuracy is how many levels the likeliest one is off, and the median level.

    Of several labels, the accuracy is that of all together; beside it are the mean accuracy of single labels,
    its base rate, and the mean AUC over the labels that have both values.

    Where no record is held out there is nothing to return.
    """
    load_flat(model, parameters)
    test = federation.pooled_test()
    if not len(test):
        return {}
    outputs, labels = logits(model, test), test.labels
    if federation.outcome is not None:
        return _measured_numbers(federation, outputs, labels, federation.outcome)
    overall = evaluation(outputs, labels)
    measured = {"loss": overall.loss, "accuracy": overall.accuracy, "base_rate": base_rate(labels)}
    if overall.auc is not None:
        measured["auc"] = overall.auc
    if isinstance(model, OrdinalHead):
        found = assess_levels(outputs.argmax(dim=1).numpy(), labels)
        measured |= {"level_error": found.error.value, "constant_level_error": found.constant_error}
    if count := labels_of(model):
        measured |= _by_label(probabilities(outputs), labels, count)
    return measured | _by_silo(federation, "accuracy", is_right(outputs, labels))


def _by_label(shares: Floats, labels: Integers, count: int) -> dict[str, float]:
    """Returns means over several labels, each by itself."""
    stated, held = shares_of_labels(shares), labels[:, None] >> np.arange(count) & 1
    areas = [area_under_roc(stated[:, place], held[:, place]) for place in range(count)]
    known = [area for area in areas if area is not None]
    common = np.maximum(held.mean(axis=0), 1.0 - held.mean(axis=0))
    return {
        "label_accuracy": float(((stated > 1.0 / 2.0) == held).mean()),
        "label_base_rate": float(common.mean()),
        **({"auc": float(np.mean(known))} if known else {}),
    }


def _measured_numbers(
    federation: Federation, outputs: torch.Tensor, labels: Integers, outcome: Outcome
) -> dict[str, float]:
    """Returns what is measured of a regression."""
    right = outcome.read_back(labels)
    off = np.abs(outcome.numbers(outputs[:, 0].double().numpy()) - right)
    return {
        "loss": float(number_losses(outputs, torch.from_numpy(labels)).mean()),
        "mae": float(off.mean()),
        "constant_mae": float(np.abs(right - np.median(right)).mean()),
        **_by_silo(federation, "mae", off),
    }


def _by_silo(federation: Federation, name: str, found: npt.NDArray[Any]) -> dict[str, float]:
    """Returns the mean of what was found of each held-out record, for each silo that has some."""
    measured, first = {}, 0
    for silo in federation.silos:
        own = slice(first, first + len(silo.test))
        first = own.stop
        if len(silo.test):
            measured[f"{name}/{silo.name}"] = float(found[own].mean())
    return measured


def quality_of(
    model: nn.Module,
    federation: Federation,
    parameters: Floats,
    *,
    classes: Sequence[str] | None,
    labels: Sequence[str] = (),
) -> AnyQuality | None:
    """Returns how good the final model is on all held-out records, by silo and by public category.

    Args:
        model: takes the weights.
        federation: whose held-out records are asked.
        parameters: the weights.
        classes: texts of the labels; None: their numbers, or where there are none.
        labels: names of the columns that are predicted.

    Returns:
        None where no record is held out, or the model gives some record no finite answer.
    """
    load_flat(model, parameters)
    test = federation.pooled_test()
    if not len(test):
        return None
    outputs, outcome = logits(model, test), federation.outcome
    found = probabilities(outputs) if outcome is None else outcome.numbers(outputs.double().numpy())
    if not np.isfinite(found).all():
        return None  # a model that diverged; its loss, in metrics.jsonl, says so
    silo = [silo.name for silo in federation.silos for _ in range(len(silo.test))]
    groups = {"silo": silo, **categories_of(federation.feature_names, test.features)}
    owners = Owners(test.persons)
    if outcome is not None:
        return assess_numbers(found[:, 0], outcome.read_back(test.labels), groups=groups, owners=owners)
    if labels_of(model):
        return assess(found, test.labels, groups=groups, owners=owners, several=labels)
    ordinal = isinstance(model, OrdinalHead)
    return assess(found, test.labels, classes=classes, groups=groups, owners=owners, ordinal=ordinal)


def categories_of(names: Sequence[str], features: Float32s) -> dict[str, list[str]]:
    """Returns for each categorical column of a table which category each record has.

    They are read off the features, whose names are ``column = category``, and ``column missing`` for a blank
    cell: a record of a category has a positive number there.

    Example:
        >>> rows = np.array([[0.2, 0, 1, 0], [0.1, 1, 0, 0], [0.1, 0, 0, 1], [0.1, 0, 0, 0]], np.float32)
        >>> categories_of(["age", "sex = f", "sex = m", "sex missing"], rows)
        {'sex': ['m', 'f', 'blank', 'any other']}
    """
    places: dict[str, list[tuple[int, str]]] = {}
    for number, name in enumerate(names):
        column, equals, category = name.partition(" = ")
        if equals:
            places.setdefault(column, []).append((number, category))
        elif (blank := name.removesuffix(" missing")) in places:
            places[blank].append((number, BLANK))
    few = [(column, own) for column, own in places.items() if len(own) <= _MOST_CATEGORIES][:_MOST_COLUMNS]
    found = {}
    for column, own in few:
        present = features[:, [number for number, _ in own]] > 0
        texts = np.array([category for _, category in own])
        other = "any other" if len(own) > 1 else f"not {texts[0]}"
        found[column] = np.where(present.any(axis=1), texts[present.argmax(axis=1)], other).tolist()
    return found
