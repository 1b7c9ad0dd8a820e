"""Measuring a model on held-out records: for simulations, never private, never part of a guarantee."""

from __future__ import annotations

from torch import nn

from discreet.arrays import Floats
from discreet.data import Federation
from discreet.learning.metrics import base_rate, evaluation, is_right, logits
from discreet.models import load_flat


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
