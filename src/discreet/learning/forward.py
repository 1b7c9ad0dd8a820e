"""Forward passes in which one record decides neither an error nor the last bits of another.

Torch raises an error for an index beyond an embedding table, and indices come from features. Its matrix
kernels treat rows that begin at other offsets from 16 bytes differently: measured for linear layers whose
number of inputs is no multiple of four. Here such an index means the nearest row, and zeros fill inputs up.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TypeGuard

import torch
from torch import nn
from torch.nn import functional

from discreet.models.convexity import LinearHead

_NUMBERS_PER_OFFSET = 4


@contextmanager
def independent_records(model: nn.Module) -> Iterator[None]:
    """Has the embeddings and linear layers of ``model`` computed in that way while the block runs."""
    with ExitStack() as undo:
        for layer in model.modules():
            if isinstance(layer, nn.Embedding):
                undo.callback(layer.register_forward_pre_hook(_clamped, with_kwargs=True).remove)
            elif _is_linear(layer) and _missing(layer.weight) > 0:
                layer.forward = partial(_filled_up, layer)  # type: ignore[method-assign]
                undo.callback(delattr, layer, "forward")
        yield


def linear(layer: nn.Linear | LinearHead, inputs: torch.Tensor) -> torch.Tensor:
    """Returns what ``layer`` returns while such a block runs."""
    return _filled_up(layer, inputs) if _missing(layer.weight) > 0 else layer.forward(inputs)


def linear_backward(layer: nn.Linear, upward: torch.Tensor) -> torch.Tensor:
    """Returns the gradients by the inputs of `linear`, from those by its outputs, as autograd has them."""
    filled = functional.pad(layer.weight, (0, _missing(layer.weight)))
    return (upward @ filled)[..., : layer.weight.shape[1]]


def _clamped(
    table: nn.Module, arguments: tuple[torch.Tensor, ...], keywords: dict[str, torch.Tensor]
) -> tuple[tuple[torch.Tensor, ...], dict[str, torch.Tensor]]:
    if not isinstance(table, nn.Embedding):
        raise TypeError(f"Not an embedding: {type(table).__name__}.")
    last = table.num_embeddings - 1
    return (
        tuple(indices.clamp(0, last) for indices in arguments),
        {name: indices.clamp(0, last) for name, indices in keywords.items()},
    )


def _is_linear(layer: nn.Module) -> TypeGuard[nn.Linear | LinearHead]:
    """A subclass may compute something else."""
    return type(layer) in (nn.Linear, LinearHead)


def _missing(weight: torch.Tensor) -> int:
    """How many inputs a linear layer lacks to the next multiple."""
    return -weight.shape[1] % _NUMBERS_PER_OFFSET


def _filled_up(layer: nn.Linear | LinearHead, input: torch.Tensor) -> torch.Tensor:  # noqa: A002 - torch's name
    """What a linear layer returns, from inputs and weights with zeros behind them."""
    more = (0, _missing(layer.weight))
    inputs = input.flatten(1) if isinstance(layer, LinearHead) else input
    bias = layer.bias if isinstance(layer, nn.Linear) else None
    return functional.linear(functional.pad(inputs, more), functional.pad(layer.weight, more), bias)
