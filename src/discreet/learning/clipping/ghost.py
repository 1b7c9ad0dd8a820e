"""Per-record gradients with one forward and one backward pass: book-keeping of inputs and output gradients.

The backward pass stops at the layers' outputs, so the batch gradient of the weights, which a plain step
would compute, is never formed; the pieces of the layers take its place. Bu, Wang, Zha, Karypis (2023),
"Differentially private optimization on large model at small cost".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import nn

from discreet.errors import ConfigurationError
from discreet.learning.clipping.record_gradients import RecordGradients
from discreet.learning.clipping.rules import Pieces, find_rule
from discreet.learning.forward import independent_records
from discreet.learning.losses import known_labels, last_class, record_losses

_Arguments = tuple[torch.Tensor, ...]
_Hook = Callable[[nn.Module, _Arguments, dict[str, torch.Tensor], torch.Tensor], None]


@dataclass(slots=True)
class Call:
    """One layer's input and output in the current forward pass."""

    inputs: torch.Tensor
    outputs: torch.Tensor
    version: int


@dataclass(slots=True)
class _Tape:
    """What the hooks saw: the calls of every layer, by name."""

    calls: dict[str, list[Call]] = field(default_factory=dict)


def trainable_layers(model: nn.Module) -> dict[str, nn.Module]:
    """Returns the layers that own at least one trainable parameter, by name, in the model's order."""
    return {
        name: layer
        for name, layer in model.named_modules()
        if any(param.requires_grad for param in layer.parameters(recurse=False))
    }


def layer_without_rule(model: nn.Module) -> str | None:
    """Names the first layer that cannot be book-kept, or None; parameter sharing counts as one."""
    owners: dict[int, str] = {}
    for name, layer in trainable_layers(model).items():
        if find_rule(layer) is None:
            return f"{name or 'the model'} ({type(layer).__name__})"
        for param in layer.parameters(recurse=False):
            if owners.setdefault(id(param), name) != name:
                return f"{name} ({type(layer).__name__}, shares a parameter with {owners[id(param)]})"
    return None


def recorded_forward(
    model: nn.Module, features: torch.Tensor, layers: dict[str, nn.Module]
) -> tuple[torch.Tensor, dict[str, Call]]:
    """Returns the model's outputs and what each of its trainable ``layers`` saw, by name, in their order.

    Raises:
        ConfigurationError: if a layer runs more than once a pass, does not keep records in its first
            dimension, or has its output changed in place.
    """
    with _recording(layers) as tape, independent_records(model):
        outputs = model(features)
    return outputs, {name: _single_call(name, tape.calls.get(name, []), len(features)) for name in layers}


def ghost_gradients(model: nn.Module, features: torch.Tensor, labels: torch.Tensor) -> RecordGradients:
    """Returns the gradients of the records of one chunk.

    Raises:
        ConfigurationError: if a layer cannot be book-kept; see `recorded_forward`.
    """
    layers = trainable_layers(model)
    outputs, calls = recorded_forward(model, features, layers)
    losses = record_losses(outputs, known_labels(outputs, labels))
    backprops = torch.autograd.grad(losses.sum(), [call.outputs for call in calls.values()])
    # layers and their parameters come in the order of `flatten`
    with torch.no_grad():
        pieces = {
            f"{name}.{leaf}": piece
            for (name, layer), gradient in zip(layers.items(), backprops, strict=True)
            for leaf, piece in _trained_pieces(layer, calls[name].inputs, gradient).items()
        }
    return RecordGradients(outputs.detach(), losses.detach(), labels <= last_class(outputs.shape[1]), pieces)


def _trained_pieces(layer: nn.Module, inputs: torch.Tensor, gradient: torch.Tensor) -> Pieces:
    """The pieces of the layer's trainable parameters; frozen ones are skipped."""
    rule = find_rule(layer)
    if rule is None:
        raise ConfigurationError(f"Layer type {type(layer).__name__} has no fast clipping rule.")
    pieces = rule(layer, inputs, gradient)
    return {
        leaf: pieces[leaf] for leaf, param in layer.named_parameters(recurse=False) if param.requires_grad
    }


def _single_call(name: str, calls: list[Call], records: int) -> Call:
    """Checks what book-keeping relies on, layer by layer."""
    if not len(calls) == 1:
        raise ConfigurationError(
            f"Layer {name!r} must run exactly once a forward pass for fast clipping; it ran "
            f"{len(calls)} times. Use one layer object for each place in the network."
        )
    (call,) = calls
    if not (call.inputs.shape[0] == records and call.outputs.shape[0] == records):
        raise ConfigurationError(
            f"Layer {name!r} must keep records in its first dimension; got {tuple(call.inputs.shape)} for "
            f"{records} records. Move the batch dimension to the front."
        )
    if not call.outputs._version == call.version:
        raise ConfigurationError(
            f"The output of layer {name!r} must not be changed in place. Use the out-of-place activation."
        )
    return call


@contextmanager
def _recording(layers: dict[str, nn.Module]) -> Iterator[_Tape]:
    """Records inputs and outputs of ``layers`` while the block runs."""
    tape = _Tape()

    def hook(name: str) -> _Hook:
        def record(
            _: nn.Module, arguments: _Arguments, keywords: dict[str, torch.Tensor], outputs: torch.Tensor
        ) -> None:
            (inputs,) = (*arguments, *keywords.values())
            call = Call(inputs.detach(), outputs, outputs._version)
            tape.calls.setdefault(name, []).append(call)

        return record

    handles = [layer.register_forward_hook(hook(name), with_kwargs=True) for name, layer in layers.items()]
    try:
        yield tape
    finally:
        for handle in handles:
            handle.remove()
