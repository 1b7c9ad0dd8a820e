"""Indices of embedding tables come from features; one out of range must not stop a round."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import nn


@contextmanager
def indices_in_range(model: nn.Module) -> Iterator[None]:
    """While the block runs, an index beyond a table's rows means the nearest row, in every `nn.Embedding`.

    Torch raises an error for such an index, which one record could decide.
    """
    with ExitStack() as hooks:
        for layer in model.modules():
            if isinstance(layer, nn.Embedding):
                handle = layer.register_forward_pre_hook(_clamped, with_kwargs=True)
                hooks.callback(handle.remove)
        yield


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
