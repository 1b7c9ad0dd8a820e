"""Measuring a model on held-out records: for simulations, never private, never part of a guarantee."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from torch import nn

from discreet.data import Federation
from discreet.learning import evaluate
from discreet.models import load_flat


def measure(
    model: nn.Module, federation: Federation, parameters: npt.NDArray[np.float64]
) -> dict[str, float]:
    """Returns loss, accuracy, AUC (two classes) over all held-out records, and accuracy in each silo."""
    load_flat(model, parameters)
    overall = evaluate(model, federation.pooled_test())
    measured = {"loss": overall.loss, "accuracy": overall.accuracy}
    if overall.auc is not None:
        measured["auc"] = overall.auc
    for silo in federation.silos:
        if len(silo.test.labels):
            measured[f"accuracy/{silo.name}"] = evaluate(model, silo.test).accuracy
    return measured
