"""Bounded activations, which tame per-record gradients."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


class TemperedSigmoid(nn.Module):
    """s / (1 + exp(-T·z)) - o, as a function of one tensor with a backward pass of its own.

    Papernot, Thakurta, Song, Chien, Erlingsson (2021), equation 2. With scale 2, temperature 2 and offset
    1, the defaults, it is tanh but for rounding (about 1e-7), and several times as fast as torch's own on a
    processor, whose sigmoid is.

    Example:
        >>> bool(torch.allclose(TemperedSigmoid()(torch.tensor([0.5])), torch.tanh(torch.tensor([0.5]))))
        True
    """

    def __init__(self, scale: float = 2.0, temperature: float = 2.0, offset: float = 1.0) -> None:
        super().__init__()
        self.scale, self.temperature, self.offset = scale, temperature, offset

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Applies the activation to every entry."""
        found: torch.Tensor
        found, _ = _Tempered.apply(inputs, self.scale, self.temperature, self.offset)  # type: ignore[no-untyped-call]
        return found


class _Tempered(torch.autograd.Function):
    """One pass for each of sigmoid, scale and offset, and two for the gradient, with no graph in between."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        inputs: torch.Tensor, scale: float, temperature: float, offset: float
    ) -> tuple[torch.Tensor, torch.Tensor]:
        sigmoid = torch.sigmoid(inputs * temperature)
        return sigmoid.mul(scale).sub_(offset), sigmoid

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, torch.Tensor]) -> None:
        _, scale, temperature, _ = inputs
        sigmoid = output[1]
        ctx.mark_non_differentiable(sigmoid)
        ctx.save_for_backward(sigmoid)
        ctx.slope = scale * temperature

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None, None, None]:
        (sigmoid,) = ctx.saved_tensors
        slope = torch.ops.aten.sigmoid_backward(gradients[0], sigmoid)
        return slope * ctx.slope, None, None, None
