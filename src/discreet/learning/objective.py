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
from discreet.learning.torch_state import on_device_of, torch_seeded, use_fast_layout
from discreet.models.checks import check_model
from discreet.models.convexity import ConvexHead, convexity
from discreet.models.parameters import load_flat, trainable
from discreet.randomness import RandomSource

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
        losses, residuals = self.head.losses_and_residuals(logits, labels)
        gradient = residuals.T @ features
        return gradient.ravel() / len(batch), float(losses.mean())


@dataclass(frozen=True, slots=True)
class NetworkObjective:
    """Any network, by autograd in the network's own precision and on its own device."""

    model: nn.Module
    features: torch.Tensor
    labels: torch.Tensor
    randomness: RandomSource

    def mean_gradient(self, parameters: FloatVector, batch: Indices) -> tuple[FloatVector, float]:
        """Returns the gradient by back-propagation and the loss."""
        load_flat(self.model, parameters)
        chosen = torch.from_numpy(batch).to(self.features.device)
        with torch_seeded(self.randomness, self.features.device):
            loss = mean_loss(self.model(self.features[chosen]), self.labels[chosen])
            weights = [param for _, param in trainable(self.model)]
            parts = torch.autograd.grad(loss, weights)
        gradient = np.concatenate([part.double().cpu().numpy().ravel() for part in parts])
        return gradient, float(loss.detach())


def objective_for(model: nn.Module, records: Records, randomness: RandomSource) -> Objective:
    """Returns the fastest objective for ``model`` over ``records``.

    Args:
        model: the architecture; scratch space. Networks run on the device that it is on.
        records: what to train on.
        randomness: source of dropout masks, if the model draws any.

    Raises:
        ConfigurationError: if the model keeps statistics of the data, which would outlive a clipped update.
    """
    head = convexity(model)
    if head is not None:
        return LinearObjective(head, flat_features(records).astype(np.float64), records.labels)
    check_model(model)
    use_fast_layout(model)
    features, labels = on_device_of(model, records)
    return NetworkObjective(model, features, labels, randomness.derive("dropout"))
