"""Which models are linear heads, whose loss `discreet.kinds.heads` proves convex: read off the model."""

from __future__ import annotations

import torch
from torch import nn

from discreet.kinds.heads import ConvexHead, Ordinal, head_on
from discreet.models.joint import JointLabels

_SMALLEST_SHARE = 1e-6


class LinearHead(nn.Module):
    """Flattened features times one weight matrix that starts at zero; the bias is a constant feature."""

    def __init__(self, num_features: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(outputs, num_features))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Returns logits, shape ``(n, outputs)``."""
        return features.flatten(1) @ self.weight.T


class OrdinalHead(nn.Module):
    """A linear head for levels in an order, as `discreet.kinds.heads.Ordinal` has it.

    Margins of levels that are not in order count as the smallest of those below, so that no level has a
    negative probability; none has less than one in a million before they are made to add up to 1.
    """

    def __init__(self, num_features: int, levels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(levels, num_features))
        offsets = torch.tensor(Ordinal(levels).offsets, dtype=torch.float32)
        self.register_buffer("offsets", offsets, persistent=False)

    offsets: torch.Tensor

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Returns logarithms of the levels' probabilities, shape ``(n, levels)``."""
        outputs = features.flatten(1) @ self.weight.T
        margins = (outputs[:, :1] + outputs[:, 1:] + self.offsets).double()
        # One by one: exports have no cumulative minimum.
        lowest = [margins[:, :1]]
        for level in range(1, margins.shape[1]):
            lowest.append(torch.minimum(lowest[-1], margins[:, level : level + 1]))
        reached = torch.sigmoid(torch.cat(lowest, dim=1))
        ends = torch.ones_like(reached[:, :1])
        shares = torch.cat([ends, reached], dim=1) - torch.cat([reached, torch.zeros_like(ends)], dim=1)
        shares = shares + _SMALLEST_SHARE
        return torch.log(shares / shares.sum(dim=1, keepdim=True)).to(outputs.dtype)


def convexity(model: nn.Module) -> ConvexHead | None:
    """Returns the convex head that ``model`` is, or None when no convexity is known.

    Recognised: `LinearHead`, `OrdinalHead`, and an `nn.Linear` without bias, alone or after `nn.Flatten` in
    an `nn.Sequential`. One output is `BinaryLogistic`, several are `Softmax`; a `LinearHead` under
    `JointLabels` is `MultiLabel`.

    Example:
        >>> convexity(nn.Linear(5, 3, bias=False))
        Softmax(num_classes=3)
        >>> convexity(nn.Sequential(nn.Linear(5, 5), nn.ReLU(), nn.Linear(5, 3))) is None
        True
    """
    if type(model) is JointLabels:
        linear = type(model.network) is LinearHead and convexity(model.network)
        return head_on(model.labels, several=True) if linear else None
    layers = list(model) if type(model) is nn.Sequential else [model]
    if len(layers) == 2 and type(layers[0]) is nn.Flatten and layers[0].start_dim == 1:
        layers = layers[1:]
    if len(layers) != 1:
        return None
    (layer,) = layers
    is_linear = type(layer) in (LinearHead, OrdinalHead) or (type(layer) is nn.Linear and layer.bias is None)
    if not (is_linear and isinstance(layer.weight, nn.Parameter) and layer.weight.requires_grad):
        return None
    return head_on(layer.weight.shape[0], ordinal=type(layer) is OrdinalHead)
