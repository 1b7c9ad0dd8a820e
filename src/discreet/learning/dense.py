"""Dense networks of several clients at once: forward and backward passes as stacks of matrix products.

numpy multiplies a stack slice by slice, with the call that multiplies one pair of matrices, so a client's
numbers are the same in every company. A batch of ten records is over before torch has dispatched a few of
its operations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from discreet.arrays import Float32s, Floats, Integers
from discreet.kinds.heads import BinaryLogistic, ConvexHead, Softmax
from discreet.learning.torch_state import device_of

_Float = TypeVar("_Float", np.float32, np.float64)


class _Layer(Protocol):
    """A layer over stacks of batches, shape ``(m, b, width)``; its parameters are given, ``(m, size)``."""

    @property
    def size(self) -> int:
        """Number of its parameters."""

    def forward(self, own: Float32s, inputs: Float32s) -> Float32s:
        """Returns the outputs."""

    def write_gradients(self, inputs: Float32s, upward: Float32s, out: Floats) -> None:
        """Writes the gradients by its parameters, given ``upward``, those by its outputs."""

    def below(self, own: Float32s, outputs: Float32s, upward: Float32s) -> Float32s:
        """Returns the gradients by its inputs."""


@dataclass(frozen=True, slots=True)
class _Affine:
    """Weights and biases, in the order of `nn.Linear`."""

    inputs: int
    outputs: int
    has_bias: bool

    @property
    def size(self) -> int:
        return self.outputs * (self.inputs + self.has_bias)

    def forward(self, own: Float32s, inputs: Float32s) -> Float32s:
        found: Float32s = inputs @ self._weights(own).swapaxes(1, 2)
        if self.has_bias:
            found += own[:, None, -self.outputs :]
        return found

    def write_gradients(self, inputs: Float32s, upward: Float32s, out: Floats) -> None:
        self._weights(out)[...] = upward.swapaxes(1, 2) @ inputs
        if self.has_bias:
            out[:, -self.outputs :] = upward.sum(axis=1)

    def below(self, own: Float32s, outputs: Float32s, upward: Float32s) -> Float32s:
        del outputs
        found: Float32s = upward @ self._weights(own)
        return found

    def _weights(self, own: npt.NDArray[_Float]) -> npt.NDArray[_Float]:
        """Returns a view of the weights among the parameters, or of their gradients."""
        return own[:, : self.outputs * self.inputs].reshape(len(own), self.outputs, self.inputs)


@dataclass(frozen=True, slots=True)
class _Activation:
    """A function of single entries, and its derivative by way of its value."""

    function: Callable[[Float32s], Float32s]
    slope: Callable[[Float32s], Float32s]

    @property
    def size(self) -> int:
        return 0

    def forward(self, own: Float32s, inputs: Float32s) -> Float32s:
        del own
        return self.function(inputs)

    def write_gradients(self, inputs: Float32s, upward: Float32s, out: Floats) -> None:
        """Writes nothing: there are no parameters."""

    def below(self, own: Float32s, outputs: Float32s, upward: Float32s) -> Float32s:
        del own
        return upward * self.slope(outputs)


def _rectified(inputs: Float32s) -> Float32s:
    return np.maximum(inputs, np.float32(0.0))


def _rectified_slope(outputs: Float32s) -> Float32s:
    return (outputs > 0).astype(np.float32)


def _tanh_slope(outputs: Float32s) -> Float32s:
    return np.float32(1.0) - outputs * outputs


_TANH = _Activation(np.tanh, _tanh_slope)
_RELU = _Activation(_rectified, _rectified_slope)


@dataclass(frozen=True, slots=True)
class DenseNetwork:
    """Dense layers and activations with the cross entropy of their outputs, in float32.

    Attributes:
        layers: in order.
        head: the loss of the last layer's outputs.
    """

    layers: tuple[_Layer, ...]
    head: ConvexHead

    def mean_gradients(
        self, parameters: Floats, features: Float32s, labels: Integers
    ) -> tuple[Floats, Floats]:
        """Returns the gradient of each client's mean loss, shape ``(m, d)``, and the losses, ``(m,)``.

        Args:
            parameters: shape ``(m, d)``.
            features: shape ``(m, b, p)``.
            labels: shape ``(m, b)``.
        """
        clients, batch = labels.shape
        own, values = self._by_layer(parameters.astype(np.float32)), [features]
        for layer, mine in zip(self.layers, own, strict=True):
            values.append(layer.forward(mine, values[-1]))
        logits = values[-1].reshape(clients * batch, -1).astype(np.float64)
        losses, residuals = self.head.losses_and_residuals(logits, labels.ravel())
        upward = (residuals / batch).astype(np.float32).reshape(values[-1].shape)
        joined = np.empty_like(parameters)
        gradients = self._by_layer(joined)
        for place, layer in reversed(list(enumerate(self.layers))):
            layer.write_gradients(values[place], upward, gradients[place])
            if place > 0:
                upward = layer.below(own[place], values[place + 1], upward)
        return joined, losses.reshape(clients, batch).mean(axis=1)

    def _by_layer(self, parameters: npt.NDArray[_Float]) -> list[npt.NDArray[_Float]]:
        """Returns views of each layer's own, shape ``(m, size)``."""
        return np.split(parameters, np.cumsum([layer.size for layer in self.layers])[:-1], axis=1)


def dense_network(model: nn.Module, *, flat_records: bool) -> DenseNetwork | None:
    """Returns ``model`` as a dense network, or None if it is more than flatten, linear, tanh and ReLU.

    Args:
        model: the architecture.
        flat_records: whether a record's features are a vector already.
    """
    if not (type(model) is nn.Sequential and (flat_records or _flattens(model[0]))):
        return None
    layers = [_layer(module) for module in model if not _flattens(module)]
    known = [layer for layer in layers if layer is not None]
    outputs = [layer.outputs for layer in known if isinstance(layer, _Affine)]
    # Known layers have none inside. One that is used twice has its weights once, and a hook may do anything.
    weights = {
        id(param): param for module in model for param in module._parameters.values() if param is not None
    }
    counted = sum(layer.size for layer in known) == sum(param.numel() for param in weights.values())
    plain = all(param.requires_grad and param.dtype is torch.float32 for param in weights.values())
    hooked = any(module._forward_hooks or module._forward_pre_hooks for module in (model, *model))
    if not (len(known) == len(layers) and outputs and counted and plain and not hooked):
        return None
    head: ConvexHead = BinaryLogistic() if outputs[-1] == 1 else Softmax(outputs[-1])
    return DenseNetwork(tuple(known), head)


def is_dense(model: nn.Module, *, flat_records: bool) -> TypeGuard[nn.Sequential]:
    """Says whether ``model`` is a `dense_network` on the processor."""
    return device_of(model).type == "cpu" and dense_network(model, flat_records=flat_records) is not None


def _flattens(module: nn.Module) -> bool:
    return type(module) is nn.Flatten and (module.start_dim, module.end_dim) == (1, -1)


def _layer(module: nn.Module) -> _Affine | _Activation | None:
    if type(module) is nn.Linear:
        return _Affine(module.in_features, module.out_features, module.bias is not None)
    if type(module) is nn.Tanh:
        return _TANH
    return _RELU if type(module) is nn.ReLU else None
