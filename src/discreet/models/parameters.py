"""What training changes of a model as one flat float64 vector, the form in which it is summed and released.

Flattening order: `torch.nn.Module.parameters()` order, each array row-major; frozen ones
(``requires_grad=False``) are left out; then the running statistics of batch norm, means before variances.
Laplacian smoothing depends on this order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError
from safetensors.numpy import load, save
from torch import nn

from discreet.arrays import Floats
from discreet.documents import read_json
from discreet.errors import ConfigurationError
from discreet.models.batch_norm import running_statistics

_ABOUT = "discreet"
# No name of a tensor of torch has a slash by itself.
_PREPARED = "discreet/prepared"


def trainable(model: nn.Module) -> list[tuple[str, nn.Parameter]]:
    """Returns the named parameters that training changes by gradients, in flattening order."""
    return [(name, param) for name, param in model.named_parameters() if param.requires_grad]


def flatten(model: nn.Module) -> Floats:
    """Returns a copy of the trainable parameters and the running statistics, shape ``(d,)``.

    Example:
        >>> flatten(nn.Linear(3, 2)).shape
        (8,)
    """
    parts = [tensor.detach().cpu().double().numpy().ravel() for tensor in _flattened(model)]
    return np.concatenate(parts) if parts else np.empty(0)


def _flattened(model: nn.Module) -> list[torch.Tensor]:
    return [*(param for _, param in trainable(model)), *running_statistics(model)]


def frozen(model: nn.Module) -> dict[str, torch.Tensor]:
    """Returns what training does not change, by name: frozen parameters, and saved buffers beside them.

    Of a model without frozen parameters that is nothing.
    """
    names = [name for name, param in model.named_parameters() if not param.requires_grad]
    if not names:
        return {}
    moving = {id(tensor) for tensor in _flattened(model)}
    saved = model.state_dict(keep_vars=True)
    return {name: tensor for name, tensor in saved.items() if id(tensor) not in moving}


def frozen_digest(model: nn.Module) -> bytes:
    """Returns the SHA-256 of names, types, shapes and bytes of `frozen`; empty where there is nothing."""
    found, digest = frozen(model), hashlib.sha256()
    for name, tensor in found.items():
        array = np.ascontiguousarray(tensor.detach().cpu().numpy())
        digest.update(f"{name} {_form(array)}\n".encode())
        digest.update(array.data)
    return digest.digest() if found else b""


def load_flat(model: nn.Module, vector: Floats) -> None:
    """Writes ``vector`` where `flatten` reads it, rounding to the precision that is there.

    A value too large for that precision becomes its largest.

    Raises:
        ConfigurationError: if the length is another than `flatten` returns, or a value is not finite.
    """
    params = _flattened(model)
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
    source = torch.from_numpy(np.require(vector, np.float64, ["W", "C"]))
    start = 0
    with torch.no_grad():
        for param in params:
            largest = torch.finfo(param.dtype).max
            param.copy_(source[start : start + param.numel()].clamp(-largest, largest).view_as(param))
            start += param.numel()


@dataclass(frozen=True, slots=True)
class ModelFile:
    """What a file of a released model holds.

    Attributes:
        tensors: weights and buffers by name.
        about: where they come from, as whoever wrote it put it.
        prepared: the values of the public map that records are prepared by; None where they are not.
    """

    tensors: Mapping[str, npt.NDArray[Any]]
    about: str
    prepared: Floats | None = None


def model_file(model: nn.Module, parameters: Floats, about: str, prepared: Floats | None = None) -> bytes:
    """Returns the file of a released model, ``model.safetensors``: tensors by name, and no code.

    Args:
        model: gives names, shapes and buffers; it holds ``parameters`` afterwards.
        parameters: trainable weights, shape ``(d,)``.
        about: what the file says of itself, in its metadata.
        prepared: as `ModelFile` has it.
    """
    load_flat(model, parameters)
    tensors = {name: tensor.detach().cpu().numpy() for name, tensor in model.state_dict().items()}
    if prepared is not None:
        tensors[_PREPARED] = np.ascontiguousarray(prepared)
    return save(tensors, metadata={_ABOUT: about})


def read_model_file(data: bytes, *, name: str) -> ModelFile:
    """Reads what `model_file` returned.

    Raises:
        ConfigurationError: if it is no such file.
    """
    try:
        tensors = load(data)
        header = read_json(data[8 : 8 + int.from_bytes(data[:8], "little")])
        about = header["__metadata__"][_ABOUT]
    except SafetensorError as error:
        raise ConfigurationError(f"{name} must be a model file; it cannot be read: {error}.") from None
    except (KeyError, TypeError, ValueError, RecursionError):
        raise ConfigurationError(
            f"{name} must be a model that discreet released; the file does not say what it is."
        ) from None
    return ModelFile(tensors, about, tensors.pop(_PREPARED, None))


def load_tensors(model: nn.Module, file: ModelFile, *, name: str) -> None:
    """Writes the tensors of a file into ``model``, which must have the same, by name, type and shape.

    Raises:
        ConfigurationError: naming the first that differs; ``model`` is unchanged.
    """
    own = {key: tensor.cpu().numpy() for key, tensor in model.state_dict().items()}
    for key in sorted(own.keys() | file.tensors.keys()):
        expected, found = _form(own.get(key)), _form(file.tensors.get(key))
        if expected != found:
            raise ConfigurationError(f"{name} must hold {key!r} as {expected}; got {found}.")
        if not np.isfinite(file.tensors[key]).all():
            raise ConfigurationError(f"{name} must hold finite numbers; {key!r} has others.")
    # With torch's own notes on versions, without which it adds counts of batches.
    state = model.state_dict()
    state.update({key: torch.from_numpy(array) for key, array in file.tensors.items()})
    model.load_state_dict(state)


def _form(array: npt.NDArray[Any] | None) -> str:
    return "nothing" if array is None else f"{array.dtype} {array.shape}"
