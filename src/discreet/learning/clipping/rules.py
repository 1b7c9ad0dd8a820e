"""One rule a layer type: from its input and the gradient at its output to the pieces of its parameters.

A rule is registered for the exact type; a subclass may compute something else and takes the fallback.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import nn
from torch.nn import functional

from discreet.learning.clipping.pieces import Explicit, Lookup, OuterSum, Piece, Reordered
from discreet.models.convexity import LinearHead

Pieces = Mapping[str, Piece]
Rule = Callable[[nn.Module, torch.Tensor, torch.Tensor], Pieces]

# The patches of so many images stay in the processor's cache from the copy to the product.
_RECORDS_WRITTEN_OUT_AT_ONCE = 32


def find_rule(layer: nn.Module) -> Rule | None:
    """Returns the rule for ``layer``, or None when its per-record gradients must be written out."""
    if isinstance(layer, nn.Conv1d | nn.Conv2d) and not _is_plain_convolution(layer):
        return None
    return _RULES.get(type(layer))


def _outer(backprops: torch.Tensor, activations: torch.Tensor) -> Piece:
    """Chooses between writing gradients out and keeping factors, by the number of multiplications.

    Args:
        backprops: shape ``(n, positions, rows)``.
        activations: shape ``(n, positions, columns)``, or a view that reshapes to it by a copy.
    """
    records, positions, rows = backprops.shape
    columns = activations[:1].numel() // positions
    if positions == 1 or 2 * positions * (rows + columns) < rows * columns:
        return OuterSum(backprops, activations.reshape(records, positions, columns))
    gradients = backprops.new_empty(records, rows, columns)
    for first in range(0, records, _RECORDS_WRITTEN_OUT_AT_ONCE):
        some = slice(first, first + _RECORDS_WRITTEN_OUT_AT_ONCE)
        copied = activations[some].reshape(-1, positions, columns)
        torch.bmm(backprops[some].transpose(1, 2), copied, out=gradients[some])
    return Explicit(gradients)


def _linear(layer: nn.Module, inputs: torch.Tensor, backprops: torch.Tensor) -> Pieces:  # noqa: ARG001
    """Linear layers, with any number of positions between the batch and the features."""
    records, rows, columns = inputs.shape[0], backprops.shape[-1], inputs.shape[-1]
    spread = backprops.reshape(records, -1, rows)
    weight = _outer(spread, inputs.reshape(records, -1, columns))
    return {"weight": weight, "bias": Explicit(spread.sum(dim=1))}


def _linear_head(layer: nn.Module, inputs: torch.Tensor, backprops: torch.Tensor) -> Pieces:
    return {"weight": _linear(layer, inputs.flatten(1), backprops)["weight"]}


def _convolution(layer: nn.Module, inputs: torch.Tensor, backprops: torch.Tensor) -> Pieces:
    """One- and two-dimensional convolutions: the patches are the activations of a linear layer."""
    if isinstance(layer, nn.Conv1d):
        inputs, backprops = inputs.unsqueeze(2), backprops.unsqueeze(2)
        kernel, stride, padding, dilation = (
            (1, *layer.kernel_size),
            (1, *layer.stride),
            (0, *_numbers(layer.padding)),
            (1, *layer.dilation),
        )
    elif isinstance(layer, nn.Conv2d):
        kernel, stride, dilation = layer.kernel_size, layer.stride, layer.dilation
        padding = _numbers(layer.padding)
    else:
        raise TypeError(f"Not a convolution: {type(layer).__name__}.")
    # (n, positions, out channels): a view when the network runs in the channels-last layout
    spread = backprops.permute(0, 2, 3, 1).flatten(1, 2)
    patches = _patches(
        inputs, backprops.shape[2:], kernel=kernel, stride=stride, padding=padding, dilation=dilation
    )
    bias = Explicit(spread.sum(dim=1))
    channels = inputs.shape[1]
    if layer.groups == 1:
        shape = (layer.out_channels, *kernel, channels)
        return {"weight": Reordered(_outer(spread, patches), shape, (0, 3, 1, 2)), "bias": bias}
    by_group = spread.reshape(*spread.shape[:2], layer.groups, -1)
    patches = patches.reshape(*spread.shape[:2], *kernel, layer.groups, -1)
    weight = torch.einsum("ntgk,ntabgp->ngkpab", by_group, patches)
    return {"weight": Explicit(weight), "bias": bias}


def _patches(
    inputs: torch.Tensor,
    output: torch.Size,
    *,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
) -> torch.Tensor:
    """A view of every patch that the kernel sees, shape ``(n, *output, *kernel, channels)``.

    Channels come last because they lie next to each other in the channels-last layout. A single channel has
    no dimension: one of a single entry would make every copy of the view a loop over single numbers.
    """
    if any(padding):
        inputs = functional.pad(inputs, (padding[1], padding[1], padding[0], padding[0]))
    records, channels = inputs.shape[:2]
    by_record, by_channel, by_row, by_column = inputs.stride()
    windows = (records, *output, *kernel)
    strides = (
        by_record,
        by_row * stride[0],
        by_column * stride[1],
        by_row * dilation[0],
        by_column * dilation[1],
    )
    if channels == 1:
        return inputs.as_strided(windows, strides)
    return inputs.as_strided((*windows, channels), (*strides, by_channel))


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


def _numbers(padding: str | tuple[int, ...]) -> tuple[int, ...]:
    return (0, 0) if isinstance(padding, str) else padding


_RULES: dict[type[nn.Module], Rule] = {
    nn.Linear: _linear,
    LinearHead: _linear_head,
    nn.Conv1d: _convolution,
    nn.Conv2d: _convolution,
    nn.Embedding: _embedding,
    nn.GroupNorm: _group_norm,
    nn.LayerNorm: _layer_norm,
    nn.InstanceNorm1d: _instance_norm,
    nn.InstanceNorm2d: _instance_norm,
    nn.InstanceNorm3d: _instance_norm,
}
