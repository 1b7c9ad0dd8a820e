"""Small networks from the literature of private learning, sized by the shape of one record.

Their activations do not decrease, so a largest activation is the activation of the largest entry: pooling
comes first, which leaves the activation fewer entries.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import torch
from torch import nn

from discreet.errors import ConfigurationError


class _Tanh(torch.autograd.Function):
    """tanh as 2σ(2z) - 1, but for rounding of about 1e-7; torch's sigmoid is several times as fast."""

    @staticmethod
    def forward(ctx: Any, inputs: torch.Tensor) -> torch.Tensor:
        values = (2.0 * inputs).sigmoid_().mul_(2.0).sub_(1.0)
        ctx.save_for_backward(values)
        return values

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        (values,) = ctx.saved_tensors
        found: torch.Tensor = torch.ops.aten.tanh_backward(gradient, values)
        return found


class TemperedSigmoid(nn.Module):
    """s / (1 + exp(-T·z)) - o, bounded activations that tame per-record gradients; by default tanh.

    Papernot, Thakurta, Song, Chien, Erlingsson (2021), equation 2.
    """

    def __init__(self, scale: float = 2.0, temperature: float = 2.0, offset: float = 1.0) -> None:
        super().__init__()
        self.scale, self.temperature, self.offset = scale, temperature, offset

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Applies the activation to every entry."""
        if (self.scale, self.temperature, self.offset) == (2.0, 2.0, 1.0):
            # torch.func refuses functions that see their context; the other form costs 0.1 ms a call more
            with suppress(RuntimeError):
                activated: torch.Tensor = _Tanh.apply(inputs)  # type: ignore[no-untyped-call]
                return activated
        return self.scale * torch.sigmoid(self.temperature * inputs) - self.offset


class AsImage(nn.Module):
    """Gives grey images of shape ``(n, rows, columns)`` their channel dimension."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Returns shape ``(n, channels, rows, columns)``."""
        return inputs.unsqueeze(1) if inputs.ndim == 3 else inputs


def cnn_tanh(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """The convolutional network of Papernot et al. (2021), Table 1: 26,010 weights on 28 x 28 images."""
    return _two_convolutions(feature_shape, num_classes, TemperedSigmoid)


def cnn_tanh_standardised(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """`cnn_tanh` on images standardised one by one, from weights that keep the size of activations.

    Every image is brought to mean 0 and variance 1 by itself; weights start with variance 1/inputs and biases
    at zero (LeCun, Bottou, Orr, Müller 1998, section 4.6). Logits then move steadily with the weights from
    the first round, which is what `discreet.kinds.TangentSteps` relies on.
    """
    network = _two_convolutions(feature_shape, num_classes, TemperedSigmoid)
    for layer in network:
        if isinstance(layer, nn.Conv2d | nn.Linear) and layer.bias is not None:
            nn.init.normal_(layer.weight, std=1.0 / math.sqrt(layer.weight[0].numel()))
            nn.init.zeros_(layer.bias)
    channels, _, _ = _image_shape(feature_shape)
    return nn.Sequential(AsImage(), nn.GroupNorm(1, channels, affine=False), *list(network)[1:])


def cnn_relu(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """The same network with rectified activations."""
    return _two_convolutions(feature_shape, num_classes, nn.ReLU)


def cnn_tempered_sigmoid(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """The same network with the tempered sigmoid of scale 2, temperature 2 and offset 1."""
    return _two_convolutions(feature_shape, num_classes, TemperedSigmoid)


def cnn_group_norm(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """The small network that Tramèr and Boneh (2021), Table 9, put on scattering features.

    The features are normalised in groups of three channels inside the network, per record.
    """
    channels, rows, columns = _image_shape(feature_shape)
    groups = channels // 3 if channels % 3 == 0 else 1
    return nn.Sequential(
        AsImage(),
        nn.GroupNorm(groups, channels, affine=False),
        nn.Conv2d(channels, 16, 3, stride=2, padding=1),
        nn.MaxPool2d(2, 1),
        nn.Tanh(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.MaxPool2d(2, 1),
        nn.Tanh(),
        nn.Flatten(),
        nn.Linear(32 * ((rows + 1) // 2 - 2) * ((columns + 1) // 2 - 2), 32),
        nn.Tanh(),
        nn.Linear(32, num_classes),
    )


def cnn_street(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """A network of two wide convolutions and two dense layers: 3.4 million weights on 3 x 32 x 32 images.

    The size that Liang et al. (DP-Fed-LS) report for street-view house numbers; they do not print the layers.
    """
    channels, rows, columns = _image_shape(feature_shape)
    return nn.Sequential(
        AsImage(),
        nn.Conv2d(channels, 32, 5, padding=2),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Conv2d(32, 64, 5, padding=2),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(64 * (rows // 4) * (columns // 4), 816),
        nn.ReLU(),
        nn.Linear(816, num_classes),
    )


def mlp(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """One hidden layer of 100 units."""
    return nn.Sequential(
        nn.Flatten(), nn.Linear(math.prod(feature_shape), 100), nn.Tanh(), nn.Linear(100, num_classes)
    )


class CharacterLstm(nn.Module):
    """Predicts the next character of a window: an embedding of 8, two LSTM layers of 256.

    The network of LEAF's Shakespeare task (Caldas et al. 2018), used by Liang et al.
    """

    def __init__(self, num_characters: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(num_characters, 8)
        self.lstm = nn.LSTM(8, 256, num_layers=2, batch_first=True)
        self.head = nn.Linear(256, num_characters)

    def forward(self, windows: torch.Tensor) -> torch.Tensor:
        """Returns logits of the next character; ``windows`` has shape ``(n, length)``."""
        states, _ = self.lstm(self.embedding(windows.long()))
        logits: torch.Tensor = self.head(states[:, -1])
        return logits


def lstm(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """`CharacterLstm` for windows of any length; the classes are the characters."""
    if not len(feature_shape) == 1:
        raise ConfigurationError(f"'lstm' needs windows of characters; got records of shape {feature_shape}.")
    return CharacterLstm(num_classes)


def _two_convolutions(
    feature_shape: tuple[int, ...], num_classes: int, activation: type[nn.Module]
) -> nn.Sequential:
    channels, rows, columns = _image_shape(feature_shape)
    flat = 32 * _after_two_convolutions(rows) * _after_two_convolutions(columns)
    return nn.Sequential(
        AsImage(),
        nn.Conv2d(channels, 16, 8, stride=2, padding=3),
        nn.MaxPool2d(2, 1),
        activation(),
        nn.Conv2d(16, 32, 4, stride=2),
        nn.MaxPool2d(2, 1),
        activation(),
        nn.Flatten(),
        nn.Linear(flat, 32),
        activation(),
        nn.Linear(32, num_classes),
    )


def _after_two_convolutions(side: int) -> int:
    first = (side + 6 - 8) // 2 + 1 - 1
    return (first - 4) // 2 + 1 - 1


def _image_shape(feature_shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Returns (channels, rows, columns)."""
    if len(feature_shape) == 2:
        return 1, feature_shape[0], feature_shape[1]
    if len(feature_shape) == 3:
        return feature_shape[0], feature_shape[1], feature_shape[2]
    raise ConfigurationError(
        f"A convolutional network needs image records; got shape {feature_shape}. "
        "Load the data without flattening, or use 'logistic' or 'mlp'."
    )
