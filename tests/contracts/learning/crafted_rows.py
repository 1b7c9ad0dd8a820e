"""Records made to be hurt by last bits: at kinks, ties and the ends of float32, and where they cancel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from discreet.data.records import Records
from discreet.models import LinearHead
from discreet.models.batch_norm import without_counts

Floats = npt.NDArray[np.float64]
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Crafted:
    """A public model and records that an adversary chose for it."""

    model: nn.Module
    features: npt.NDArray[np.float32]

    def records(self, rows: npt.NDArray[np.int64]) -> Records:
        """Some of the records, again and again if there are not enough; all labels are 0."""
        chosen = np.take(self.features, rows, axis=0, mode="wrap")
        return Records(chosen, np.zeros(len(rows), np.int64))


def at_the_kinks() -> Crafted:
    """Pixels between 0 and 1 at which every unit before a ReLU is zero but for rounding."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(784, 100), nn.ReLU(), nn.Linear(100, 10))
    weights, biases = _float64(model[1].weight), _float64(model[1].bias)
    inverse, rng, found = np.linalg.pinv(weights), np.random.default_rng(0), []
    for _ in range(6):
        pixels = rng.uniform(0.2, 0.8, 784)
        for _ in range(30):
            pixels = np.clip(pixels - inverse @ (weights @ pixels + biases), 0.0, 1.0)
        found.append(pixels)
    return Crafted(model, _float32(found).reshape(-1, 28, 28))


def beyond_rounding() -> Crafted:
    """Large records that no hidden unit sees: what it does see is rounding."""
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(300, 40), nn.Tanh(), nn.Linear(40, 3))
    return Crafted(model, _orthogonal(_float64(model[0].weight), 300))


def with_batch_norm() -> Crafted:
    """Large records whose spread no channel sees: what batch norm divides by is rounding."""
    torch.manual_seed(1)
    layers = nn.Linear(300, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 3)
    model = without_counts(nn.Sequential(*layers))
    return Crafted(model, _orthogonal(_float64(layers[0].weight), 300))


def of_an_odd_width() -> Crafted:
    """The same with rows that do not begin at multiples of 16 bytes, and one output."""
    torch.manual_seed(2)
    model = nn.Sequential(nn.Linear(301, 37), nn.ReLU(), nn.Linear(37, 5), nn.ReLU(), nn.Linear(5, 1))
    return Crafted(model, _orthogonal(_float64(model[0].weight), 301))


def without_a_visible_logit(outputs: int) -> Callable[[], Crafted]:
    """A linear head that sees nothing of its records but rounding."""

    def make() -> Crafted:
        weights = np.random.default_rng(outputs).normal(size=(outputs, 300))
        model = LinearHead(300, outputs)
        with torch.no_grad():
            model.weight.copy_(torch.from_numpy(weights))
        return Crafted(model, _orthogonal(_float64(model.weight), 300))

    return make


def with_ties() -> Crafted:
    """A constant kernel's windows see the same numbers in another order; a pool takes the largest sum."""
    torch.manual_seed(3)
    model: Any = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(4, 6, 2), nn.Flatten(), nn.Linear(96, 5)
    )
    with torch.no_grad():
        model[0].weight.copy_(model[0].weight[:, :, :1, :1].expand(4, 1, 3, 3))
    rng = np.random.default_rng(3)
    tiles = rng.normal(size=(6, 1, 3, 3)) * 10.0 ** rng.uniform(0, 4, (6, 1, 1, 1))
    return Crafted(model, _float32(np.tile(tiles, (1, 1, 4, 4))))


def at_the_ends_of_float32() -> Crafted:
    """The largest numbers, denormal ones, zeros, and ordinary ones among them."""
    torch.manual_seed(4)
    model = nn.Sequential(nn.Linear(64, 32), nn.GELU(), nn.Linear(32, 4))
    rng = np.random.default_rng(4)
    scales = np.array([_LARGEST, 1e-42, 0.0, 1.0, 1e20, 1e30, 1e-30, 1e10])
    signs = np.sign(rng.normal(size=(len(scales), 64)))
    rows = np.where(scales[:, None] == 1.0, rng.normal(size=signs.shape), scales[:, None] * signs)
    return Crafted(model, _float32(rows))


def with_a_vanishing_residual() -> Crafted:
    """A wrong class at e^-60, times features of 1e35: squares of the first vanish in float32."""
    model: Any = nn.Sequential(nn.Linear(4, 2))
    with torch.no_grad():
        model[0].weight.copy_(torch.tensor([[30.0, 0, 0, 0], [-30.0, 0, 0, 0]]))
        model[0].bias.zero_()
    return Crafted(model, _float32([[1.0, 1e35, -1e35, 0.0], [1.0, 1e18, 1e18, 1e18], [0.7, 1e37, 0.0, 0.0]]))


def _orthogonal(weights: Floats, width: int) -> npt.NDArray[np.float32]:
    """Large rows in the kernel of ``weights``."""
    _, _, right = np.linalg.svd(weights)
    rng, kernel = np.random.default_rng(5), right[len(weights) :]
    rows = rng.normal(size=(8, len(kernel))) @ kernel
    rows *= 10.0 ** rng.uniform(4, 9, (8, 1)) / np.linalg.norm(rows, axis=1, keepdims=True)
    assert rows.shape == (8, width)
    return _float32(rows)


def _float64(values: Any) -> Floats:
    return values.detach().double().numpy()


def _float32(values: object) -> npt.NDArray[np.float32]:
    return np.asarray(values).astype(np.float32)
