"""The rule of convolutions against autograd, one record at a time, for kernels that move in every way."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from discreet.learning.clipping import convolution
from discreet.learning.clipping.convolution import convolution_pieces
from discreet.learning.clipping.pieces import Explicit, OuterSum, Reordered
from discreet.learning.clipping.products import multiply

RECORDS = 35
LAYOUTS = [torch.contiguous_format, torch.channels_last]


def gradients_by_autograd(layer: Any, inputs: torch.Tensor, backprops: torch.Tensor) -> torch.Tensor:
    """Each record's weight gradient, shape ``(n, ·)``."""
    rows = []
    for one, gradient in zip(torch.split(inputs, 1), torch.split(backprops, 1), strict=True):
        (found,) = torch.autograd.grad(layer(one), layer.weight, gradient)
        rows.append(found.flatten())
    return torch.stack(rows)


def check(layer: nn.Module, inputs: torch.Tensor) -> object:
    """Compares norms and a weighted sum; returns the piece of the weights."""
    torch.manual_seed(0)
    backprops = torch.randn_like(layer(inputs)).detach()
    expected = gradients_by_autograd(layer, inputs, backprops)
    with torch.no_grad():
        pieces = convolution_pieces(layer, inputs, backprops)
    weight, factors = pieces["weight"], torch.rand(len(inputs), dtype=torch.float64)
    torch.testing.assert_close(weight.norms_squared(), expected.square().sum(dim=1), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(weight.weighted_sum(factors), factors @ expected, rtol=1e-9, atol=1e-9)
    bias = backprops.flatten(2).sum(dim=2)
    torch.testing.assert_close(pieces["bias"].weighted_sum(factors), factors @ bias, rtol=1e-9, atol=1e-9)
    return weight


kernels = st.fixed_dictionaries(
    {
        "in_channels": st.integers(1, 3),
        "kernel_size": st.tuples(st.integers(1, 4), st.integers(1, 4)),
        "stride": st.tuples(st.integers(1, 4), st.integers(1, 4)),
        "dilation": st.tuples(st.integers(1, 3), st.integers(1, 3)),
        "padding": st.tuples(st.integers(0, 2), st.integers(0, 2)),
    }
)


@settings(max_examples=60, deadline=None)
@given(kernel=kernels, spare=st.tuples(st.integers(0, 4), st.integers(0, 4)), layout=st.sampled_from(LAYOUTS))
def test_every_way_to_move_a_kernel(
    kernel: dict[str, Any], spare: tuple[int, int], layout: torch.memory_format
) -> None:
    layer = nn.Conv2d(out_channels=2, **kernel).double()
    reached = [
        (size - 1) * step + 1 for size, step in zip(kernel["kernel_size"], kernel["dilation"], strict=True)
    ]
    sides = [
        max(1, size - 2 * pad) + more
        for size, pad, more in zip(reached, kernel["padding"], spare, strict=True)
    ]
    inputs = torch.randn(3, kernel["in_channels"], *sides, dtype=torch.float64)
    check(layer, inputs.contiguous(memory_format=layout))


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.Conv2d(1, 16, 8, 2, 3), (1, 28, 28)),
        (nn.Conv1d(3, 5, 4, stride=3, padding=2, dilation=2), (3, 20)),
        (nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=1, groups=2), (4, 7, 6)),
    ],
    ids=["P1's first layer", "one dimension", "groups"],
)
def test_gradients_that_are_written_out(
    monkeypatch: pytest.MonkeyPatch, layer: nn.Module, shape: tuple[int, ...]
) -> None:
    """A few records at a time, the last time fewer."""
    monkeypatch.setattr(convolution, "_VALUES_AT_ONCE", 1 << 14)
    weight = check(layer.double(), torch.randn(RECORDS, *shape, dtype=torch.float64))
    assert isinstance(weight.piece if isinstance(weight, Reordered) else weight, Explicit)


def test_many_weights_and_few_positions_keep_factors() -> None:
    layer = nn.Conv2d(30, 40, 3).double()
    weight = check(layer, torch.randn(5, 30, 4, 4, dtype=torch.float64))
    assert isinstance(weight, Reordered)
    assert isinstance(weight.piece, OuterSum)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_products_go_to_any_view(dtype: torch.dtype) -> None:
    left = torch.randint(-3, 4, (2, 1, 3, 5)).to(dtype)
    right = torch.randint(-3, 4, (2, 4, 5, 6)).to(dtype)
    out = torch.zeros(2, 3, 8, 6, dtype=dtype)
    multiply(left, right, out=out[:, :, ::2].transpose(1, 2))
    assert torch.equal(out[:, :, ::2].transpose(1, 2), torch.matmul(left, right))
    assert not out[:, :, 1::2].any()
