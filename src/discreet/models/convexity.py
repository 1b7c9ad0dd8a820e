"""Which models are linear heads, whose loss `discreet.kinds.heads` proves convex: read off the model."""

from __future__ import annotations

import torch
from torch import nn

from discreet.kinds.heads import ConvexHead, head_on


class LinearHead(nn.Module):
    """Flattened features times one weight matrix that starts at zero; the bias is a constant feature."""

    def __init__(self, num_features: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(outputs, num_features))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Returns logits, shape ``(n, outputs)``."""
        return features.flatten(1) @ self.weight.T


def convexity(model: nn.Module) -> ConvexHead | None:
    """Returns the convex head that ``model`` is, or None when no convexity is known.

    Recognised: `LinearHead`, and an `nn.Linear` without bias, alone or after `nn.Flatten` in an
    `nn.Sequential`. One output is `BinaryLogistic`, several are `Softmax`.

    Example:
        >>> convexity(nn.Linear(5, 3, bias=False))
        Softmax(num_classes=3)
        >>> convexity(nn.Sequential(nn.Linear(5, 5), nn.ReLU(), nn.Linear(5, 3))) is None
        True
    """
    layers = list(model) if type(model) is nn.Sequential else [model]
    if len(layers) == 2 and type(layers[0]) is nn.Flatten and layers[0].start_dim == 1:
        layers = layers[1:]
    if len(layers) != 1:
        return None
    (layer,) = layers
    is_linear = type(layer) is LinearHead or (type(layer) is nn.Linear and layer.bias is None)
    if not (is_linear and isinstance(layer.weight, nn.Parameter) and layer.weight.requires_grad):
        return None
    return head_on(layer.weight.shape[0])
