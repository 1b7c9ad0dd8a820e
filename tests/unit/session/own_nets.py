"""What a user may give as a model: a function, a class, and what only looks like one."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn


def small(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    return nn.Sequential(
        nn.Flatten(), nn.Linear(math.prod(feature_shape), 6), nn.Tanh(), nn.Linear(6, num_classes)
    )


class Net(nn.Module):
    def __init__(self, feature_shape: tuple[int, ...], num_classes: int) -> None:
        super().__init__()
        self.layers = small(feature_shape, num_classes)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return self.layers(features)

    @staticmethod
    def make(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
        return small(feature_shape, num_classes)


def with_hidden_of_shape(feature_shape: tuple[int, ...], num_classes: int) -> Any:
    return with_hidden(num_classes)


def with_hidden(width: int) -> Callable[..., nn.Module]:
    def make(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
        return nn.Sequential(nn.Linear(math.prod(feature_shape), width), nn.Linear(width, num_classes))

    return make


class Tokens(nn.Module):
    """Takes bytes for places in a table; whole numbers alone with `whole`."""

    def __init__(self, _: tuple[int, ...], num_classes: int, *, whole: bool = True) -> None:
        super().__init__()
        self.whole = whole
        self.table, self.head = nn.Embedding(256, 4), nn.Linear(4, num_classes)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        places = features.long() if self.whole else features
        return self.head(self.table(places.flatten(1)).mean(1))


def floats(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    return Tokens(feature_shape, num_classes, whole=False)


def decorated(function: Any) -> Any:
    @functools.wraps(function)
    def wrapped(*args: Any) -> Any:
        return function(*args)

    return wrapped


hidden = decorated(small)
unnamed = lambda shape, classes: small(shape, classes)  # noqa: E731, PLW0108
partial = functools.partial(small)
