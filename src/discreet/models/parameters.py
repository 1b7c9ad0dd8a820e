"""Trainable parameters as one flat float64 vector, the form in which they are summed and released.

Flattening order: `torch.nn.Module.parameters()` order, each array row-major; frozen ones
(``requires_grad=False``) are left out. Laplacian smoothing depends on this order.
"""

from __future__ import annotations

import numpy as np
import torch
from safetensors.numpy import save
from torch import nn

from discreet.arrays import Floats
from discreet.errors import ConfigurationError


def trainable(model: nn.Module) -> list[tuple[str, nn.Parameter]]:
    """Returns the named parameters that training changes, in flattening order."""
    return [(name, param) for name, param in model.named_parameters() if param.requires_grad]


def flatten(model: nn.Module) -> Floats:
    """Returns a copy of the trainable parameters, shape ``(d,)``.

    Example:
        >>> flatten(nn.Linear(3, 2)).shape
        (8,)
    """
    parts = [param.detach().cpu().double().numpy().ravel() for _, param in trainable(model)]
    return np.concatenate(parts) if parts else np.empty(0)


def load_flat(model: nn.Module, vector: Floats) -> None:
    """Writes ``vector`` into the trainable parameters, rounding to their own precision.

    A value too large for that precision becomes its largest.

    Raises:
        ConfigurationError: if the length is not the number of trainable parameters, or a value is not
            finite.
    """
    params = [param for _, param in trainable(model)]
    dimension = sum(param.numel() for param in params)
    if not vector.shape == (dimension,):
        raise ConfigurationError(
            f"A parameter vector must have shape ({dimension},) for this model; got {vector.shape}. "
            "Check that every party builds the model from the same plan."
        )
    if not bool(np.all(np.isfinite(vector))):
        raise ConfigurationError(
            "Parameters must be finite; got NaN or infinity. Lower the server's learning rate."
        )
    source = torch.from_numpy(np.array(vector, dtype=np.float64, copy=True))
    start = 0
    with torch.no_grad():
        for param in params:
            largest = torch.finfo(param.dtype).max
            param.copy_(source[start : start + param.numel()].clamp(-largest, largest).view_as(param))
            start += param.numel()


def model_file(model: nn.Module, parameters: Floats) -> bytes:
    """Returns the file of a released model, ``model.safetensors``: tensors by name, and no code.

    Args:
        model: gives names, shapes and buffers; it holds ``parameters`` afterwards.
        parameters: trainable weights, shape ``(d,)``.
    """
    load_flat(model, parameters)
    return save({name: tensor.detach().cpu().numpy() for name, tensor in model.state_dict().items()})
