"""Records that an adversary would choose: where float arithmetic is least like real arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import nn

from discreet.arrays import Float32s, Floats
from discreet.randomness import SeededRandom

LARGEST = 3e38
"""Near the largest float32: any sum of two overflows."""
SMALLEST = 1e-45
"""The smallest positive float32, a denormal."""

BATCH_SIZES = (*range(1, 41), 63, 64, 65, 79, 80, 127, 128, 143, 144, 255, 256, 257)
"""Numbers of records around which linear-algebra kernels and chunks change."""

EXTREMES = frozenset({"as large as float32", "denormals", "zeros", "noise"})
"""Ways to craft that are about values, not about how a batch is computed."""

_KINK_STEPS = 40


def crafted_rows(
    model: nn.Module, shape: tuple[int, ...], bound: float | None, source: SeededRandom
) -> Iterator[tuple[str, Float32s]]:
    """Yields a name and one record's features, shape ``(1, *shape)``, for each way to craft some.

    Args:
        model: the public model; kinks and cancellations are made for its first layer's present weights.
        shape: of one record's features.
        bound: largest L2 norm that features may have; None if there is no bound.
        source: chooses among the records of each way.
    """
    makers: dict[str, Callable[[], Floats | None]] = {
        "kink of the first layer": lambda: _kink(model, shape, source.derive("kink")),
        "cancellation in the first layer": lambda: _cancelling(model, shape, source.derive("cancelling")),
        "one value everywhere": lambda: np.full(shape, float(source.derive("level").uniform(1)[0])),
        "as large as float32": lambda: _huge(shape, source.derive("huge")),
        "denormals": lambda: np.full(shape, SMALLEST),
        "zeros": lambda: np.zeros(shape),
        "noise": lambda: source.derive("noise").uniform(math.prod(shape)).reshape(shape),
    }
    for name, make in makers.items():
        row = make()
        if row is not None:
            yield name, _within(row, bound)[None]


def _within(row: Floats, bound: float | None) -> Float32s:
    """Shortens a record to the bound, a little inward so that rounding to float32 stays inside."""
    if bound is not None:
        # Norms in float64 of values near 3e38 are finite.
        row = row * min(1.0, bound * (1.0 - 2.0**-20) / max(float(np.linalg.norm(row)), 1e-30))
    return row.astype(np.float32)


def _huge(shape: tuple[int, ...], source: SeededRandom) -> Floats:
    """Every value as large as it gets, with one sign or with random ones."""
    if source.derive("one sign").bernoulli(1, 0.5)[0]:
        return np.full(shape, LARGEST)
    return LARGEST * np.where(source.bernoulli(math.prod(shape), 0.5), 1.0, -1.0).reshape(shape)


def _kink(model: nn.Module, shape: tuple[int, ...], source: SeededRandom) -> Floats | None:
    """Brings every output of the first layer to zero up to rounding, where a ReLU's derivative jumps.

    For a dense layer by projecting noise in [0.2, 0.8] onto the solutions within [0, 1]; for a convolution of
    grey images by the constant image at which one channel vanishes everywhere, so that max-pooling ties too.
    """
    layer = _first_layer(model)
    if isinstance(layer, nn.Conv2d):
        return _flat_image(layer, shape, source)
    if layer is None or layer.in_features != math.prod(shape):
        return None
    weight, offset = _affine(layer)
    inverse = np.linalg.pinv(weight)
    row = 0.2 + 0.6 * source.uniform(layer.in_features)
    for _ in range(_KINK_STEPS):
        row = np.clip(row - inverse @ (weight @ row + offset), 0.0, 1.0).astype(np.float32).astype(np.float64)
    return row.reshape(shape)


def _flat_image(layer: nn.Conv2d, shape: tuple[int, ...], source: SeededRandom) -> Floats | None:
    kernels = _floats(layer.weight).reshape(layer.out_channels, -1).sum(axis=1)
    channel = int(source.integers_below(1, layer.out_channels)[0])
    if layer.in_channels != 1 or abs(kernels[channel]) < 1e-9:
        return None
    level = -_offsets(layer.bias, layer.out_channels)[channel] / kernels[channel]
    return float(level) * np.ones(shape)


def _cancelling(model: nn.Module, shape: tuple[int, ...], source: SeededRandom) -> Floats | None:
    """Features of size up to 1e10 that no output of the first layer sees but by rounding."""
    layer = _first_layer(model)
    if not isinstance(layer, nn.Linear) or not layer.out_features < layer.in_features == math.prod(shape):
        return None
    weight, _ = _affine(layer)
    row = source.uniform(layer.in_features) - 0.5
    row -= np.linalg.pinv(weight) @ (weight @ row)
    size = 10.0 ** (5.0 + 5.0 * float(source.derive("size").uniform(1)[0]))
    return np.asarray(size * row / np.linalg.norm(row)).reshape(shape)


def _first_layer(model: nn.Module) -> nn.Linear | nn.Conv2d | None:
    layers = (layer for layer in model.modules() if isinstance(layer, nn.Linear | nn.Conv2d))
    return next(layers, None)


def _affine(layer: nn.Linear) -> tuple[Floats, Floats]:
    return _floats(layer.weight), _offsets(layer.bias, layer.out_features)


def _offsets(bias: torch.Tensor | None, count: int) -> Floats:
    return np.zeros(count) if bias is None else _floats(bias)


def _floats(tensor: torch.Tensor) -> Floats:
    found: Floats = tensor.detach().cpu().double().numpy()
    return found
