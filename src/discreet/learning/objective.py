"""Mean gradients for ordinary local optimisation: closed form for linear heads, autograd for the rest.

These gradients are not clipped record by record; only kinds that clip whole updates may use them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from discreet.data.records import Records
from discreet.learning.clipping.linear import flat_features
from discreet.learning.losses import mean_loss
from discreet.models.checks import check_model
from discreet.models.convexity import ConvexHead, convexity
from discreet.models.parameters import load_flat, trainable

FloatVector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


class Objective(Protocol):
    """The mean loss over a batch as a function of the flat parameters."""

    def mean_gradient(self, parameters: FloatVector, batch: Indices) -> tuple[FloatVector, float]:
        """Returns the gradient, shape ``(d,)``, and the loss, over the records at ``batch``."""
        ...


@dataclass(frozen=True, slots=True)
class LinearObjective:
    """A linear head: the gradient is residualsᵀ · features, in float64."""

    head: ConvexHead
    features: npt.NDArray[np.float64]
    labels: npt.NDArray[np.int64]

    def mean_gradient(self, parameters: FloatVector, batch: Indices) -> tuple[FloatVector, float]:
        """Returns the closed-form gradient and the loss."""
        features, labels = self.features[batch], self.labels[batch]
        logits = features @ parameters.reshape(self.head.outputs, -1).T
        loss = float(self.head.losses(logits, labels).mean())
        gradient = self.head.residuals(logits, labels).T @ features
        return gradient.ravel() / len(batch), loss


@dataclass(frozen=True, slots=True)
class NetworkObjective:
    """Any network, by autograd in the network's own precision."""

    model: nn.Module
    features: torch.Tensor
    labels: torch.Tensor

    def mean_gradient(self, parameters: FloatVector, batch: Indices) -> tuple[FloatVector, float]:
        """Returns the gradient by back-propagation and the loss."""
        load_flat(self.model, parameters)
        chosen = torch.from_numpy(batch)
        loss = mean_loss(self.model(self.features[chosen]), self.labels[chosen])
        weights = [param for _, param in trainable(self.model)]
        parts = torch.autograd.grad(loss, weights)
        gradient = np.concatenate([part.double().numpy().ravel() for part in parts])
        return gradient, float(loss.detach())


def objective_for(model: nn.Module, records: Records) -> Objective:
    """Returns the fastest objective for ``model`` over ``records``.

    Raises:
        ConfigurationError: if the model keeps statistics of the data, which would outlive a clipped update.
    """
    head = convexity(model)
    if head is not None:
        features = flat_features(records).astype(np.float64)
        return LinearObjective(head, features, records.labels)
    check_model(model)
    return NetworkObjective(model, torch.from_numpy(records.features), torch.from_numpy(records.labels))
