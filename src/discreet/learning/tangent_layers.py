"""One layer's rows of the Jacobian, from its inputs and each logit's gradient at its outputs."""

from __future__ import annotations

import math
from typing import TypeGuard

import torch
from torch import nn

from discreet.errors import ConfigurationError
from discreet.learning.clipping.convolution import (
    Window,
    by_position,
    in_two_dimensions,
    kernel_last,
    padded_inputs,
    patches,
)
from discreet.learning.clipping.ghost import layer_without_rule, trainable_layers
from discreet.learning.clipping.pieces import Explicit
from discreet.learning.clipping.products import multiply
from discreet.learning.clipping.rules import find_rule
from discreet.learning.tangent_rows import Factored, TangentRows, WrittenOut
from discreet.models.convexity import LinearHead


def layer_without_rows(model: nn.Module) -> str | None:
    """Names the first layer whose rows cannot be book-kept, or None."""
    for name, layer in trainable_layers(model).items():
        if isinstance(layer, nn.Embedding):
            return f"{name or 'the model'} ({type(layer).__name__})"
    return layer_without_rule(model)


def layer_rows(layer: nn.Module, inputs: torch.Tensor, gradients: torch.Tensor) -> TangentRows:
    """Returns the rows of one layer's trainable parameters, one after the other, in the `kept_order`.

    Args:
        layer: that `layer_without_rows` does not name, with a trainable parameter.
        inputs: shape ``(n, ...)``.
        gradients: of each logit by the layer's outputs, shape ``(n, K, ...)``.
    """
    leaves = list(_trained(layer))
    if type(layer) is nn.Linear or type(layer) is LinearHead:
        flat = inputs.flatten(1) if type(layer) is LinearHead else inputs
        activations = flat.reshape(len(flat), -1, flat.shape[-1])
        return _linear_rows(
            gradients.reshape(*gradients.shape[:2], len(activations[0]), -1), activations, leaves
        )
    return (
        _convolution_rows(layer, inputs, gradients, leaves)
        if _is_convolution(layer)
        else _rows_by_rule(layer, inputs, gradients, leaves)
    )


def kept_order(layer: nn.Module) -> torch.Tensor:
    """Returns the place of each coordinate of the rows among the layer's trainable parameters.

    A convolution's inputs come last, as in its patches; all else is in the order of `flatten`. To put a
    direction in order once a round is cheaper than rows, or a direction in every step.
    """
    trained = _trained(layer)
    places = torch.arange(sum(param.numel() for param in trained.values()))
    if not (_is_convolution(layer) and "weight" in trained):
        return places
    shape, order = kernel_last(layer, Window.of(layer))
    own = places[: math.prod(shape)].view([shape[place] for place in order])
    return torch.cat(
        [own.permute([order.index(place) for place in range(4)]).flatten(), places[own.numel() :]]
    )


def _trained(layer: nn.Module) -> dict[str, nn.Parameter]:
    return {name: param for name, param in layer.named_parameters(recurse=False) if param.requires_grad}


def _factors_are_fewer(logits: int, positions: int, outputs: int, inputs: int) -> bool:
    """Says whether rows take less memory as factors, and so less time in every product with them."""
    return positions == 1 or positions * (logits * outputs + inputs) < logits * outputs * inputs


def _linear_rows(spread: torch.Tensor, activations: torch.Tensor, leaves: list[str]) -> Factored | WrittenOut:
    """``spread`` has shape ``(n, K, T, r)``, ``activations`` ``(n, T, c)``."""
    records, logits, positions, outputs = spread.shape
    inputs, bias = activations.shape[2], "bias" in leaves
    if "weight" not in leaves:
        return WrittenOut(spread.sum(dim=2))
    if _factors_are_fewer(logits, positions, outputs, inputs):
        return Factored(spread, activations, bias)
    rows = spread.new_empty(records, logits, outputs * inputs + outputs * bias)
    weights = rows[:, :, : outputs * inputs].view(records, logits, outputs, inputs)
    multiply(spread.transpose(2, 3), activations[:, None], out=weights)
    if bias:
        torch.sum(spread, dim=2, out=rows[:, :, outputs * inputs :])
    return WrittenOut(rows)


def _is_convolution(layer: nn.Module) -> TypeGuard[nn.Conv1d | nn.Conv2d]:
    """A plain convolution without groups: its rule is known and its patches are a linear layer's inputs."""
    return isinstance(layer, nn.Conv1d | nn.Conv2d) and find_rule(layer) is not None and layer.groups == 1


def _convolution_rows(
    layer: nn.Conv1d | nn.Conv2d, inputs: torch.Tensor, gradients: torch.Tensor, leaves: list[str]
) -> TangentRows:
    """A convolution is a linear layer over patches."""
    window, seen = padded_inputs(layer, inputs)
    backprops = in_two_dimensions(layer, gradients.flatten(0, 1))
    spread = by_position(backprops)
    spread = spread.reshape(*gradients.shape[:2], *spread.shape[1:])
    return _linear_rows(spread, patches(seen, window, backprops.shape[2:]), leaves)


def _rows_by_rule(
    layer: nn.Module, inputs: torch.Tensor, gradients: torch.Tensor, leaves: list[str]
) -> TangentRows:
    """Asks the layer's clipping rule for the gradients of one logit after the other."""
    rule = find_rule(layer)
    if rule is None:
        raise ConfigurationError(f"Layer type {type(layer).__name__} has no rule for its rows.")
    by_logit = [rule(layer, inputs, gradient) for gradient in gradients.unbind(dim=1)]
    by_leaf = [_stacked([pieces[leaf] for pieces in by_logit]) for leaf in leaves]
    return WrittenOut(torch.cat(by_leaf, dim=2))


def _stacked(pieces: list[object]) -> torch.Tensor:
    return torch.stack([piece.gradients.flatten(1) for piece in pieces if isinstance(piece, Explicit)], dim=1)
