"""One rule a layer type: from its input and the gradient at its output to the pieces of its parameters.

A rule is registered for the exact type; a subclass may compute something else and takes the fallback.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import nn
from torch.nn import functional

from discreet.learning.clipping.convolution import convolution_pieces
from discreet.learning.clipping.pieces import Explicit, Lookup, OuterSum, Piece, factors_are_cheaper
from discreet.learning.clipping.products import multiply
from discreet.models.convexity import LinearHead

Pieces = Mapping[str, Piece]
Rule = Callable[[nn.Module, torch.Tensor, torch.Tensor], Pieces]


def find_rule(layer: nn.Module) -> Rule | None:
    """Returns the rule for ``layer``, or None when its per-record gradients must be written out."""
    if isinstance(layer, nn.Conv1d | nn.Conv2d) and not _is_plain_convolution(layer):
        return None
    return _RULES.get(type(layer))


def _outer(backprops: torch.Tensor, activations: torch.Tensor) -> Piece:
    """Chooses between writing gradients out and keeping factors.

    Args:
        backprops: shape ``(n, positions, rows)``.
        activations: shape ``(n, positions, columns)``.
    """
    if factors_are_cheaper(backprops.shape[1], backprops.shape[2], activations.shape[2]):
        return OuterSum(backprops, activations)
    gradients = backprops.new_empty(len(backprops), backprops.shape[2], activations.shape[2])
    multiply(backprops.transpose(1, 2), activations, out=gradients)
    return Explicit(gradients)


def _linear(layer: nn.Module, inputs: torch.Tensor, backprops: torch.Tensor) -> Pieces:  # noqa: ARG001
    """Linear layers, with any number of positions between the batch and the features."""
    records, rows, columns = inputs.shape[0], backprops.shape[-1], inputs.shape[-1]
    spread = backprops.reshape(records, -1, rows)
    weight = _outer(spread, inputs.reshape(records, -1, columns))
    return {"weight": weight, "bias": Explicit(spread.sum(dim=1))}


def _linear_head(layer: nn.Module, inputs: torch.Tensor, backprops: torch.Tensor) -> Pieces:
    return {"weight": _linear(layer, inputs.flatten(1), backprops)["weight"]}


def _embedding(layer: nn.Module, inputs: torch.Tensor, backprops: torch.Tensor) -> Pieces:
    if not isinstance(layer, nn.Embedding):
        raise TypeError(f"Not an embedding: {type(layer).__name__}.")
    records = inputs.shape[0]
    indices = inputs.reshape(records, -1)
    spread = backprops.reshape(records, indices.shape[1], layer.embedding_dim)
    if layer.padding_idx is not None:
        spread = spread * (indices != layer.padding_idx)[:, :, None]
    return {"weight": Lookup(indices, spread, layer.num_embeddings)}


def _group_norm(layer: nn.Module, inputs: torch.Tensor, backprops: torch.Tensor) -> Pieces:
    if not isinstance(layer, nn.GroupNorm):
        raise TypeError(f"Not a group norm: {type(layer).__name__}.")
    normal = functional.group_norm(inputs, layer.num_groups, eps=layer.eps)
    return _affine(backprops, normal)


def _instance_norm(layer: nn.Module, inputs: torch.Tensor, backprops: torch.Tensor) -> Pieces:
    if not isinstance(layer, nn.modules.instancenorm._InstanceNorm):
        raise TypeError(f"Not an instance norm: {type(layer).__name__}.")
    return _affine(backprops, functional.instance_norm(inputs, eps=layer.eps))


def _affine(backprops: torch.Tensor, normal: torch.Tensor) -> Pieces:
    """Scale and shift per channel, shared by all positions."""
    scale = (backprops * normal).flatten(2).sum(dim=2)
    return {"weight": Explicit(scale), "bias": Explicit(backprops.flatten(2).sum(dim=2))}


def _layer_norm(layer: nn.Module, inputs: torch.Tensor, backprops: torch.Tensor) -> Pieces:
    if not isinstance(layer, nn.LayerNorm):
        raise TypeError(f"Not a layer norm: {type(layer).__name__}.")
    shape = layer.normalized_shape
    normal = functional.layer_norm(inputs, shape, eps=layer.eps)
    scale = (backprops * normal).reshape(inputs.shape[0], -1, *shape).sum(dim=1)
    shift = backprops.reshape(inputs.shape[0], -1, *shape).sum(dim=1)
    return {"weight": Explicit(scale), "bias": Explicit(shift)}


def _is_plain_convolution(layer: nn.Conv1d | nn.Conv2d) -> bool:
    """Zero padding given as numbers, or none."""
    return layer.padding_mode == "zeros" and layer.padding != "same"


_RULES: dict[type[nn.Module], Rule] = {
    nn.Linear: _linear,
    LinearHead: _linear_head,
    nn.Conv1d: convolution_pieces,
    nn.Conv2d: convolution_pieces,
    nn.Embedding: _embedding,
    nn.GroupNorm: _group_norm,
    nn.LayerNorm: _layer_norm,
    nn.InstanceNorm1d: _instance_norm,
    nn.InstanceNorm2d: _instance_norm,
    nn.InstanceNorm3d: _instance_norm,
}
