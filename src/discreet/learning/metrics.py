"""How good a model is on records: loss, accuracy, and for two classes the area under the ROC curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from discreet.arrays import Floats, Integers
from discreet.data.records import Records
from discreet.errors import DataError
from discreet.learning.clipping.chunks import in_order, models_for_threads
from discreet.learning.clipping.shapes import chunks, longest_chunk
from discreet.learning.losses import record_losses
from discreet.learning.torch_state import on_device_of, use_fast_layout
from discreet.quality.ranking import area_under_roc


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Means over the records; ``auc`` is None unless there are two classes and both occur."""

    loss: float
    accuracy: float
    auc: float | None


def logits(model: nn.Module, records: Records) -> torch.Tensor:
    """Returns the outputs for all records in evaluation mode, on the CPU, shape ``(n, k)``.

    The bits do not depend on the number of threads.

    Raises:
        DataError: if there are no records.
    """
    if not len(records.labels) > 0:
        raise DataError("An evaluation needs at least one record; got none. Raise the test fraction.")
    was_training = model.training
    model.eval()
    use_fast_layout(model)
    features, _ = on_device_of(model, records)
    parts = chunks(len(records), longest_chunk(model))

    def outputs(own: nn.Module, part: slice) -> torch.Tensor:
        with torch.no_grad():
            found: torch.Tensor = own(features[part])
        return found

    found = torch.cat(
        list(in_order(outputs, models_for_threads(model, torch.zeros_like(features[:1]), len(parts)), parts))
    )
    model.train(was_training)
    return found.cpu()


def evaluation(outputs: torch.Tensor, labels: Integers) -> Evaluation:
    """Returns the means over records whose outputs are known; at least one."""
    loss = float(record_losses(outputs, torch.from_numpy(labels)).double().mean())
    accuracy = float(is_right(outputs, labels).mean())
    if outputs.shape[1] > 2:
        return Evaluation(loss, accuracy, auc=None)
    scores = outputs[:, 0] if outputs.shape[1] == 1 else outputs[:, 1] - outputs[:, 0]
    return Evaluation(loss, accuracy, area_under_roc(scores.double().numpy(), labels))


def probabilities(outputs: torch.Tensor) -> Floats:
    """Returns the probability of each class, shape ``(n, k)`` with k at least 2, of a model's outputs."""
    return class_probabilities(outputs).numpy()


def class_probabilities(outputs: torch.Tensor) -> torch.Tensor:
    """Returns the same as a tensor, for programs of torch."""
    if outputs.shape[1] == 1:
        second = torch.sigmoid(outputs.double())
        return torch.cat([1 - second, second], dim=1)
    return torch.softmax(outputs.double(), dim=1)


def is_right(outputs: torch.Tensor, labels: Integers) -> npt.NDArray[np.bool_]:
    """Says for each record whether the likeliest class is its label."""
    predicted = outputs[:, 0] > 0 if outputs.shape[1] == 1 else outputs.argmax(dim=1)
    return np.asarray(predicted.numpy() == labels)


def base_rate(labels: Integers) -> float:
    """Returns the share of the commonest label: the accuracy of who always names it; at least one label.

    Example:
        >>> base_rate(np.array([0, 2, 2, 1]))
        0.5
    """
    return float(np.bincount(labels).max() / len(labels))
