"""Mean gradients for ordinary local optimisation, of several clients at once.

Closed form for linear heads and dense networks, autograd for the rest. These gradients are not clipped record
by record; only kinds that clip whole updates may use them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from discreet.arrays import Floats, Indices
from discreet.data.records import Records
from discreet.kinds.heads import ConvexHead
from discreet.learning.clipping.linear import flat_features
from discreet.learning.dense import DenseNetwork, dense_network
from discreet.learning.forward import independent_records
from discreet.learning.losses import known_labels, mean_loss
from discreet.learning.torch_state import device_of, on_device_of, torch_seeded, use_fast_layout
from discreet.models.batch_norm import running_statistics
from discreet.models.checks import check_model
from discreet.models.convexity import convexity
from discreet.models.parameters import load_flat, trainable
from discreet.randomness import RandomSource

_Float = TypeVar("_Float", np.float32, np.float64)


@dataclass(frozen=True, slots=True, repr=False)
class Client:
    """One client, or one shard, that trains by itself: its records and its coins. Private."""

    records: Records
    randomness: RandomSource


class Objective(Protocol):
    """The mean loss of each of some clients over a batch of its own, as a function of its flat parameters.

    Guarantee:
        A client's gradient does not depend on which other clients are computed with it, to the bit.
    """

    @property
    def statistics(self) -> int:
        """How many of the last parameters are running statistics, which a step replaces."""

    def mean_gradients(
        self, parameters: Floats, places: Sequence[int], batches: Indices
    ) -> tuple[Floats, Floats]:
        """Returns the gradients of m of the clients, shape ``(m, d)``, and their losses, ``(m,)``.

        In place of the gradients of running statistics is what a step takes from these.

        Args:
            parameters: shape ``(m, d)``.
            places: which clients, m of them.
            batches: places of the batches' records in each client's own, shape ``(m, b)``.
        """


@dataclass(frozen=True, slots=True)
class LinearObjective:
    """A linear head: the gradient is residualsᵀ · features, in float64."""

    head: ConvexHead
    clients: tuple[Records, ...]
    statistics: ClassVar[int] = 0

    def mean_gradients(
        self, parameters: Floats, places: Sequence[int], batches: Indices
    ) -> tuple[Floats, Floats]:
        """Returns the closed-form gradients and the losses."""
        clients, batch = batches.shape
        features, labels = _gathered(
            [self.clients[place] for place in places], batches, self.head, np.float64
        )
        weights = parameters.reshape(clients, self.head.outputs, -1)
        logits = features @ weights.swapaxes(1, 2)
        losses, residuals = self.head.losses_and_residuals(
            logits.reshape(clients * batch, -1), labels.ravel()
        )
        gradients = residuals.reshape(logits.shape).swapaxes(1, 2) @ features
        gradients /= batch
        return gradients.reshape(clients, -1), losses.reshape(clients, batch).mean(axis=1)


@dataclass(frozen=True, slots=True)
class DenseObjective:
    """A network of dense layers, in its own float32."""

    network: DenseNetwork
    clients: tuple[Records, ...]
    statistics: ClassVar[int] = 0

    def mean_gradients(
        self, parameters: Floats, places: Sequence[int], batches: Indices
    ) -> tuple[Floats, Floats]:
        """Returns the gradients by back-propagation and the losses."""
        features, labels = _gathered(
            [self.clients[place] for place in places], batches, self.network.head, np.float32
        )
        return self.network.mean_gradients(parameters, features, labels)


@dataclass(frozen=True, slots=True)
class NetworkObjective:
    """Any network, one client after the other, by autograd in its own precision and on its own device."""

    model: nn.Module
    clients: tuple[Client, ...]
    statistics: int

    def mean_gradients(
        self, parameters: Floats, places: Sequence[int], batches: Indices
    ) -> tuple[Floats, Floats]:
        """Returns the gradients by back-propagation and the losses."""
        found = [
            self._mean_gradient(own, self.clients[place], batch)
            for own, place, batch in zip(parameters, places, batches, strict=True)
        ]
        return np.stack([gradient for gradient, _ in found]), np.array([loss for _, loss in found])

    def _mean_gradient(self, parameters: Floats, client: Client, batch: Indices) -> tuple[Floats, float]:
        if not bool(np.isfinite(parameters).all()):
            return np.full_like(parameters, math.nan), math.nan
        load_flat(self.model, parameters)
        features, labels = on_device_of(self.model, client.records)
        chosen = torch.from_numpy(batch).to(features.device)
        with torch_seeded(client.randomness, features.device), independent_records(self.model):
            outputs = self.model(features[chosen])
            loss = mean_loss(outputs, known_labels(outputs, labels[chosen]))
            weights = [param for _, param in trainable(self.model)]
            parts = torch.autograd.grad(loss, weights)
        gradient = np.concatenate([_flat(part) for part in parts])
        if self.statistics:
            after = np.concatenate([_flat(found) for found in running_statistics(self.model)])
            gradient = np.append(gradient, parameters[-self.statistics :] - after)
        return gradient, float(loss.detach())


def objective_for(model: nn.Module, clients: Sequence[Client]) -> Objective:
    """Returns the fastest objective for ``model`` over the records of ``clients``.

    Args:
        model: the architecture; scratch space. Networks run on the device that it is on.
        clients: what each trains on, and the source of dropout masks, if the model draws any.

    Raises:
        ConfigurationError: if the model keeps what would outlive a clipped update.
    """
    records = tuple(client.records for client in clients)
    head = convexity(model)
    if head is not None:
        return LinearObjective(head, records)
    check_model(model, mixes_records=True)
    dense = dense_network(model, flat_records=records[0].features.ndim == 2)
    if dense is not None and device_of(model).type == "cpu":
        return DenseObjective(dense, records)
    use_fast_layout(model)
    model.train()
    masks = [Client(client.records, client.randomness.derive("dropout")) for client in clients]
    statistics = sum(tensor.numel() for tensor in running_statistics(model))
    return NetworkObjective(model, tuple(masks), statistics)


def _flat(tensor: torch.Tensor) -> Floats:
    return tensor.double().cpu().numpy().ravel()


def _gathered(
    clients: Sequence[Records], batches: Indices, head: ConvexHead, dtype: type[_Float]
) -> tuple[npt.NDArray[_Float], Indices]:
    """Returns the batches' features, one row a record, shape ``(m, b, p)``, and labels, ``(m, b)``.

    A label beyond the head's classes becomes the last class: one record must not stop everybody's training.
    """
    flat = [flat_features(records) for records in clients]
    features = np.empty((*batches.shape, flat[0].shape[1]), dtype=dtype)
    labels = np.empty(batches.shape, dtype=np.int64)
    for place, (own, records, batch) in enumerate(zip(flat, clients, batches, strict=True)):
        features[place] = own[batch]
        labels[place] = records.labels[batch]
    return features, np.minimum(labels, head.num_classes - 1)
