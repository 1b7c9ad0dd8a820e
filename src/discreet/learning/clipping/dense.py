"""Clipped sums of dense networks by hand: so small, they spend more time in autograd than in products.

One product forward, one backward and one for the sum, a layer, as a plain step has them; a record's gradient
is upward ⊗ inputs, whose norm is a product of norms, and the factor goes into the rows of ``upward``
(Goodfellow 2015; Bu, Wang, Zha, Karypis 2023). The bits are those of autograd.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from discreet.arrays import Floats
from discreet.data.records import Records
from discreet.kinds.sampling import UNKNOWN_BATCH, ExpectedBatch
from discreet.kinds.styles import ClippingStyle
from discreet.learning.clipping.pieces import upper_norms_squared
from discreet.learning.clipping.products import add_products
from discreet.learning.clipping.record_gradients import selected
from discreet.learning.clipping.shapes import chunk_length, chunks, padded
from discreet.learning.clipping.styles import count_within, factors
from discreet.learning.forward import linear, linear_backward
from discreet.learning.losses import known_labels, last_class
from discreet.models.parameters import load_flat
from discreet.models.threads import one_thread

# Little is left of a call's fixed costs at this length. The sum converts a few rows at a time, for the cache.
_LONGEST = 512


def dense_chunk(expected: ExpectedBatch) -> int:
    """Returns how many rows are computed at once: a public number, whatever the number of records."""
    return chunk_length(expected, _LONGEST)


@dataclass(frozen=True, slots=True, repr=False)
class LayerRows:
    """Private: one linear layer's part of each row of a chunk.

    Attributes:
        inputs: what the layer saw, shape ``(L, p)``.
        upward: the losses' gradients at its outputs, shape ``(L, k)``.
        has_bias: whether these are its bias's gradients as well.
    """

    inputs: torch.Tensor
    upward: torch.Tensor
    has_bias: bool

    def norms_squared(self) -> torch.Tensor:
        """Squared norms of the layer's gradients, never too small, shape ``(L,)``, float64."""
        upward = upper_norms_squared(self.upward)
        weights = upward * upper_norms_squared(self.inputs)
        return weights + upward if self.has_bias else weights

    def add(self, factors: torch.Tensor, kept: slice | torch.Tensor, *, total: torch.Tensor) -> int:
        """Adds the ``kept`` rows' gradients times their factors to ``total``; returns how many weights.

        Args:
            factors: shape ``(L,)``, float64.
            kept: which rows enter.
            total: flat float64, the layer's own first.
        """
        inputs, scaled = self.inputs[kept], self.upward[kept].double().mul_(factors[kept, None])
        rows, columns = scaled.shape[1], inputs.shape[1]
        add_products(scaled, inputs, out=total[: rows * columns].view(rows, columns))
        if not self.has_bias:
            return rows * columns
        total[rows * columns : rows * (columns + 1)].add_(scaled.sum(dim=0))
        return rows * (columns + 1)


@dataclass(frozen=True, slots=True, repr=False)
class DenseRows:
    """Private: what each row of a chunk gives by itself.

    Attributes:
        layers: of the linear layers, in order.
        losses: shape ``(L,)``.
        norms_squared: of the layers' gradients, never too small, shape ``(layers, L)``, float64.
        usable: where all of it is finite and the label is one of the outputs', shape ``(L,)``.
    """

    layers: tuple[LayerRows, ...]
    losses: torch.Tensor
    norms_squared: torch.Tensor
    usable: torch.Tensor


@torch.no_grad()
def clipped_dense_sum(
    model: nn.Sequential,
    parameters: Floats,
    records: Records,
    clip_norm: float,
    *,
    style: ClippingStyle,
    expected: ExpectedBatch = UNKNOWN_BATCH,
) -> tuple[Floats, float, int]:
    """Returns the sum of clipped per-record gradients, float64, the summed loss, the count within the norm.

    Args:
        model: one that `discreet.learning.dense.dense_network` knows; scratch space.
        parameters: shape ``(d,)``.
        records: the batch.
        clip_norm: largest L2 norm of one record's contribution.
        style: how gradients are brought into the ball.
        expected: public guess of the number of records.
    """
    load_flat(model, parameters)
    length = dense_chunk(expected)
    features = torch.from_numpy(records.features).flatten(1)
    labels = torch.from_numpy(records.labels)
    total, loss, within = features.new_zeros(len(parameters), dtype=torch.float64), 0.0, 0
    with one_thread():
        for part in chunks(len(records), length):
            count = part.stop - part.start
            found = dense_rows(model, padded(features[part], length), padded(labels[part], length))
            kept = selected(found.usable, count)
            scales = factors(style, found.norms_squared, clip_norm)
            start = 0
            for layer, factor in zip(found.layers, scales, strict=True):
                start += layer.add(factor, kept, total=total[start:])
            loss += float(found.losses[kept].sum(dtype=torch.float64))
            within += count_within(found.norms_squared[:, kept], clip_norm)
    return total.numpy(), loss, within


def dense_rows(model: nn.Sequential, features: torch.Tensor, labels: torch.Tensor) -> DenseRows:
    """Computes the rows of one chunk, in the network's own precision, and nothing across rows.

    Args:
        model: one that `discreet.learning.dense.dense_network` knows.
        features: shape ``(L, p)``.
        labels: shape ``(L,)``.
    """
    layers = [layer for layer in model if type(layer) is not nn.Flatten]
    values = [features]
    for layer in layers:
        values.append(linear(layer, values[-1]) if type(layer) is nn.Linear else layer.forward(values[-1]))
    outputs = values[-1]
    losses, residuals = _losses_and_residuals(outputs, known_labels(outputs, labels))
    found = _backward(layers, values, residuals)
    squared = torch.stack([layer.norms_squared() for layer in found])
    usable = (labels <= last_class(outputs.shape[1])) & losses.isfinite() & outputs.isfinite().all(dim=1)
    return DenseRows(found, losses, squared, usable & squared.isfinite().all(dim=0))


def _backward(
    layers: list[nn.Module], values: list[torch.Tensor], upward: torch.Tensor
) -> tuple[LayerRows, ...]:
    """Returns the linear layers' rows in order, from ``upward``, the gradients by the last of ``values``."""
    found: list[LayerRows] = []
    for place in reversed(range(len(layers))):
        layer, after = layers[place], values[place + 1]
        if type(layer) is nn.Linear:
            found.append(LayerRows(values[place], upward, layer.bias is not None))
            upward = linear_backward(layer, upward) if place > 0 else upward
        elif type(layer) is nn.Tanh:
            upward = torch.ops.aten.tanh_backward(upward, after)
        else:
            upward = torch.ops.aten.threshold_backward(upward, after, 0)
    return tuple(reversed(found))


def _losses_and_residuals(outputs: torch.Tensor, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """What `record_losses` returns, and its gradient by the outputs."""
    if outputs.shape[1] == 1:
        targets = labels[:, None].to(outputs.dtype)
        losses = functional.binary_cross_entropy_with_logits(outputs, targets, reduction="none")
        return losses[:, 0], torch.sigmoid(outputs) - targets
    logarithms = torch.log_softmax(outputs, dim=1)
    own = torch.zeros_like(outputs).scatter_(1, labels[:, None], -1.0)
    residuals = torch.ops.aten._log_softmax_backward_data(own, logarithms, 1, outputs.dtype)
    return -logarithms.gather(1, labels[:, None])[:, 0], residuals
