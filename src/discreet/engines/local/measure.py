"""Measuring a model on held-out records: for simulations, never private, never part of a guarantee."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import nn

from discreet.arrays import Float32s, Floats
from discreet.data import Federation
from discreet.learning.metrics import base_rate, evaluation, is_right, logits, probabilities
from discreet.models import load_flat
from discreet.quality import Quality, assess

# A column of many categories would have groups of few records each.
_MOST_CATEGORIES = 12
_MOST_COLUMNS = 20


def measure(model: nn.Module, federation: Federation, parameters: Floats) -> dict[str, float]:
    """Returns loss, accuracy, AUC (two classes) over all held-out records, and accuracy in each silo.

    Beside the accuracy stands the base rate: that of a model which always names the commonest class.
    Where no record is held out there is nothing to return.
    """
    load_flat(model, parameters)
    test = federation.pooled_test()
    if not len(test):
        return {}
    outputs, labels = logits(model, test), test.labels
    overall = evaluation(outputs, labels)
    measured = {"loss": overall.loss, "accuracy": overall.accuracy, "base_rate": base_rate(labels)}
    if overall.auc is not None:
        measured["auc"] = overall.auc
    right, first = is_right(outputs, labels), 0
    for silo in federation.silos:
        own = slice(first, first + len(silo.test))
        first = own.stop
        if len(silo.test):
            measured[f"accuracy/{silo.name}"] = float(right[own].mean())
    return measured


def quality_of(
    model: nn.Module, federation: Federation, parameters: Floats, *, classes: Sequence[str] | None
) -> Quality | None:
    """Returns how good the final model is on all held-out records, by silo and by public category.

    Args:
        model: takes the weights.
        federation: whose held-out records are asked.
        parameters: the weights.
        classes: texts of the labels; None: their numbers.

    Returns:
        None where no record is held out, or the model gives some record no finite answer.
    """
    load_flat(model, parameters)
    test = federation.pooled_test()
    if not len(test):
        return None
    found = probabilities(logits(model, test))
    if not np.isfinite(found).all():
        return None  # a model that diverged; its loss, in metrics.jsonl, says so
    silo = [silo.name for silo in federation.silos for _ in range(len(silo.test))]
    groups = {"silo": silo, **categories_of(federation.feature_names, test.features)}
    return assess(found, test.labels, classes=classes, groups=groups)


def categories_of(names: Sequence[str], features: Float32s) -> dict[str, list[str]]:
    """Returns for each categorical column of a table which category each record has.

    They are read off the features, whose names are ``column = category``: a record of a category has a
    positive number there.

    Example:
        >>> categories_of(["age", "sex = f", "sex = m"], np.array([[0.2, 0, 1], [0.1, 1, 0]], np.float32))
        {'sex': ['m', 'f']}
    """
    places: dict[str, list[tuple[int, str]]] = {}
    for number, name in enumerate(names):
        column, equals, category = name.partition(" = ")
        if equals:
            places.setdefault(column, []).append((number, category))
    few = [(column, own) for column, own in places.items() if len(own) <= _MOST_CATEGORIES][:_MOST_COLUMNS]
    found = {}
    for column, own in few:
        present = features[:, [number for number, _ in own]] > 0
        texts = np.array([category for _, category in own])
        other = "any other" if len(own) > 1 else f"not {texts[0]}"
        found[column] = np.where(present.any(axis=1), texts[present.argmax(axis=1)], other).tolist()
    return found
