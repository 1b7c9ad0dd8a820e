"""Convolutions: a record's gradient is the sum over positions of output gradient ⊗ what the kernel saw there.

What the kernel sees at neighbouring positions overlaps. Only its columns are copied out, into strips; the
rows of a kernel are then slices of one strip, shifted by whole output rows, which are multiplied in place.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from discreet.learning.clipping.pieces import Explicit, OuterSum, Piece, Reordered, factors_are_cheaper
from discreet.learning.clipping.products import copied, multiply, product

# About so many numbers stay in the processor's cache from the copy of a strip to the product.
_VALUES_AT_ONCE = 1 << 18


@dataclass(frozen=True, slots=True)
class Window:
    """What a kernel reaches and how it moves, in rows and columns; one-dimensional kernels have one row."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]

    @classmethod
    def of(cls, layer: nn.Conv1d | nn.Conv2d) -> Window:
        """Returns the window of a convolution whose padding is given as numbers, or none."""
        padding = (0, 0) if isinstance(layer.padding, str) else layer.padding
        kernel, stride, dilation = layer.kernel_size, layer.stride, layer.dilation
        if isinstance(layer, nn.Conv1d):
            return cls((1, kernel[0]), (1, stride[0]), (0, padding[0]), (1, dilation[0]))
        return cls(
            (kernel[0], kernel[1]),
            (stride[0], stride[1]),
            (padding[0], padding[1]),
            (dilation[0], dilation[1]),
        )


def padded_inputs(layer: nn.Conv1d | nn.Conv2d, inputs: torch.Tensor) -> tuple[Window, torch.Tensor]:
    """Returns the kernel's window, and what it moves over, shape ``(n, channels, rows, columns)``."""
    window = Window.of(layer)
    rows, columns = window.padding
    inputs = inputs.unsqueeze(2) if isinstance(layer, nn.Conv1d) else inputs
    return window, functional.pad(inputs, (columns, columns, rows, rows)) if rows or columns else inputs


def in_two_dimensions(layer: nn.Conv1d | nn.Conv2d, backprops: torch.Tensor) -> torch.Tensor:
    """Returns gradients at the outputs with output rows and columns, shape ``(n, k, rows, columns)``."""
    return backprops.unsqueeze(2) if isinstance(layer, nn.Conv1d) else backprops


def by_position(backprops: torch.Tensor) -> torch.Tensor:
    """Returns ``(n, positions, k)``: a view when the network runs in the channels-last layout."""
    return backprops.permute(0, 2, 3, 1).flatten(1, 2)


def convolution_pieces(layer: nn.Module, inputs: torch.Tensor, backprops: torch.Tensor) -> dict[str, Piece]:
    """The rule of one- and two-dimensional convolutions with zero padding."""
    if not isinstance(layer, nn.Conv1d | nn.Conv2d):
        raise TypeError(f"Not a convolution: {type(layer).__name__}.")
    window, inputs = padded_inputs(layer, inputs)
    backprops = in_two_dimensions(layer, backprops)
    spread, positions = by_position(backprops), backprops.shape[2:]
    bias = Explicit(spread.sum(dim=1))
    if layer.groups > 1:
        return {"weight": _grouped(layer.groups, window, inputs, spread, positions), "bias": bias}
    if factors_are_cheaper(spread.shape[1], layer.out_channels, layer.weight[0].numel()):
        factors = OuterSum(spread, patches(inputs, window, positions))
        return {"weight": Reordered(factors, *kernel_last(layer, window)), "bias": bias}
    gradients = Explicit(written_out(inputs, spread, window, positions))
    return {"weight": Reordered(gradients, *kernel_first(layer, window)), "bias": bias}


Order = tuple[tuple[int, ...], tuple[int, ...]]
"""The shape in which gradients are computed, and the permutation that gives the weights' own order."""


def kernel_last(layer: nn.Conv1d | nn.Conv2d, window: Window) -> Order:
    """The order of output gradients ⊗ `patches`."""
    return (layer.out_channels, *window.kernel, layer.in_channels), (0, 3, 1, 2)


def kernel_first(layer: nn.Conv1d | nn.Conv2d, window: Window) -> Order:
    """The order of `written_out`."""
    return (*window.kernel, layer.in_channels, layer.out_channels), (3, 2, 0, 1)


def patches(inputs: torch.Tensor, window: Window, positions: torch.Size) -> torch.Tensor:
    """What the kernel sees at each position, ``(n, positions, kernel rows · kernel columns · channels)``."""
    seen = _windows(inputs, window, positions[0], positions[1])
    return copied(seen).view(len(inputs), positions.numel(), -1)


def written_out(
    inputs: torch.Tensor, spread: torch.Tensor, window: Window, positions: torch.Size
) -> torch.Tensor:
    """The gradients of all records, shape ``(n, kernel rows · kernel columns · channels, k)``.

    Args:
        inputs: as of `padded_inputs`.
        spread: the gradients at the outputs, shape ``(n, positions, k)``.
        window: the kernel.
        positions: output rows and columns.
    """
    records, width = len(inputs), window.kernel[1] * inputs.shape[1]
    gradients = spread.new_empty(records, window.kernel[0] * width, spread.shape[2])
    at_once = max(1, _VALUES_AT_ONCE // (positions.numel() * width))
    for first in range(0, records, at_once):
        some = slice(first, first + at_once)
        for seen, start in _seen_by_rows(inputs[some], window, positions):
            blocks, entries = seen.shape[1:3]
            written = gradients[some, start : start + blocks * entries]
            multiply(seen, spread[some].unsqueeze(1), out=written.view(-1, blocks, entries, spread.shape[2]))
    return gradients


def _seen_by_rows(
    inputs: torch.Tensor, window: Window, positions: torch.Size
) -> Iterator[tuple[torch.Tensor, int]]:
    """Yields what blocks of kernel rows see, shape ``(n, blocks, entries, positions)``, and the first entry.

    An entry is a row, column and channel of the kernel. The next block of as many rows as it takes to move by
    whole steps of the stride sees the rows of the same strip, ``shift`` further down. Rows that do not fill
    a block are one of their own.
    """
    common = math.gcd(window.stride[0], window.dilation[0])
    height, shift = window.stride[0] // common, window.dilation[0] // common
    whole, left = divmod(window.kernel[0], height)
    width = window.kernel[1] * inputs.shape[1]
    for first, blocks, rows in ((0, whole, height), (whole * height, 1, left)):
        if blocks * rows == 0:
            continue
        below = inputs[:, :, first * window.dilation[0] :]
        strip = copied(_windows(below, window, positions[0] + shift * (blocks - 1), positions[1], rows=rows))
        entries = rows * width
        by_row = positions[1] * entries
        size = (len(inputs), blocks, entries, positions.numel())
        yield strip.as_strided(size, (strip.stride(0), shift * by_row, 1, entries)), first * width


def _grouped(
    groups: int, window: Window, inputs: torch.Tensor, spread: torch.Tensor, positions: torch.Size
) -> Piece:
    """The gradients of a convolution whose groups of channels do not meet."""
    seen = _windows(inputs, window, positions[0], positions[1])
    by_group = spread.reshape(*spread.shape[:2], groups, -1).permute(0, 2, 3, 1)
    patches = seen.reshape(*spread.shape[:2], math.prod(window.kernel), groups, -1).permute(0, 3, 1, 2, 4)
    gradients = product(by_group, patches.flatten(3))
    by_position = gradients.view(*gradients.shape[:3], *window.kernel, -1)
    return Explicit(by_position.permute(0, 1, 2, 5, 3, 4))


def _windows(
    inputs: torch.Tensor, window: Window, down: int, across: int, rows: int | None = None
) -> torch.Tensor:
    """A view of what the kernel sees, shape ``(n, down, across, kernel rows, kernel columns, channels)``.

    Channels come last because they lie next to each other in the channels-last layout. Of the last three
    dimensions those of a single entry are left out: a last one would make every copy of the view a loop over
    single numbers.

    Args:
        inputs: padded.
        window: the kernel.
        down: output rows.
        across: output columns.
        rows: how many rows of the kernel, all if None.
    """
    records, channels = inputs.shape[:2]
    by_record, by_channel, by_row, by_column = inputs.stride()
    dimensions = [
        (records, by_record),
        (down, by_row * window.stride[0]),
        (across, by_column * window.stride[1]),
    ]
    inner = [
        (window.kernel[0] if rows is None else rows, by_row * window.dilation[0]),
        (window.kernel[1], by_column * window.dilation[1]),
        (channels, by_channel),
    ]
    dimensions += [(size, stride) for size, stride in inner if size > 1]
    sizes, strides = zip(*dimensions, strict=True)
    return inputs.as_strided(sizes, strides)
