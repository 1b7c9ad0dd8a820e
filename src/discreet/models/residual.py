"""A frozen residual network as public feature extractor: weights from an ``.npz`` file, no pickle.

He, Zhang, Ren, Sun (2016), section 4.2, the networks for 32 x 32 images. Trained on public images elsewhere
and never updated here. Batch norm uses the statistics stored with the weights, so that each record is
processed by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from pathlib import PurePath
from typing import Self

import numpy as np
import torch
from torch.nn import functional

from discreet.archives import arrays_in
from discreet.arrays import Float32s
from discreet.errors import ConfigurationError
from discreet.models.public_weights import PublicWeights
from discreet.models.threads import in_pieces

_BATCH_NORM_EPS = 1e-5
_STAGES = (1, 2, 3)
CIFAR100_MEAN = (0.5070, 0.4865, 0.4409)
CIFAR100_STDDEV = (0.2673, 0.2564, 0.2761)


@dataclass(frozen=True, slots=True)
class FrozenResidual:
    """The pooled last layer of a residual network.

    Attributes:
        weights: arrays by their torch names (``conv1.weight``, ``layer1.0.bn1.running_mean``, ...).
        mean: subtracted from each colour of an image in [0, 1]; public, from the network's own training.
        stddev: divided by.
    """

    weights: dict[str, torch.Tensor]
    mean: tuple[float, float, float] = CIFAR100_MEAN
    stddev: tuple[float, float, float] = CIFAR100_STDDEV

    @classmethod
    def load(cls, file: PublicWeights) -> Self:
        """Reads the weights.

        Raises:
            ConfigurationError: if the file is missing, another than was agreed, or holds no residual network.
        """
        data, path = file.read(), PurePath(file.path)
        try:
            arrays = arrays_in(BytesIO(data), path.name)
            weights = {name: torch.from_numpy(array.astype(np.float32)) for name, array in arrays.items()}
        except ValueError as error:
            raise ConfigurationError(f"Cannot read residual weights from {path.name}: {error}.") from error
        if "conv1.weight" not in weights or "layer3.0.conv1.weight" not in weights:
            raise ConfigurationError(f"{path.name} must hold conv1 and three stages of a residual network.")
        return cls(weights)

    def __call__(self, images: Float32s) -> Float32s:
        """Returns features, shape ``(n, channels)``, of images in [0, 1] of shape ``(n, 3, rows, columns)``.

        Raises:
            ConfigurationError: if the images do not have three colours.
        """
        if not (images.ndim == 4 and images.shape[1] == 3):
            raise ConfigurationError(f"Images must have shape (n, 3, rows, columns); got {images.shape}.")
        return in_pieces(images, self.features)

    def features(self, images: torch.Tensor) -> torch.Tensor:
        """Returns features of images in [0, 1], shape ``(n, channels)``."""
        centre, spread = torch.tensor(self.mean), torch.tensor(self.stddev)
        images = (images - centre[:, None, None]) / spread[:, None, None]
        hidden = functional.relu(self._normalised(self._convolved(images, "conv1"), "bn1"))
        for stage in _STAGES:
            block = 0
            while f"layer{stage}.{block}.conv1.weight" in self.weights:
                hidden = self._block(hidden, f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1)
                block += 1
        return hidden.mean(dim=(2, 3))

    def _block(self, inputs: torch.Tensor, name: str, stride: int) -> torch.Tensor:
        """Two convolutions plus the shortcut, which is projected where the shape changes."""
        hidden = self._normalised(self._convolved(inputs, f"{name}.conv1", stride), f"{name}.bn1")
        hidden = self._normalised(self._convolved(functional.relu(hidden), f"{name}.conv2"), f"{name}.bn2")
        if f"{name}.downsample.0.weight" in self.weights:
            inputs = self._convolved(inputs, f"{name}.downsample.0", stride)
            inputs = self._normalised(inputs, f"{name}.downsample.1")
        return functional.relu(hidden + inputs)

    def _convolved(self, inputs: torch.Tensor, name: str, stride: int = 1) -> torch.Tensor:
        kernel = self.weights[f"{name}.weight"]
        return functional.conv2d(inputs, kernel, stride=stride, padding=kernel.shape[-1] // 2)

    def _normalised(self, inputs: torch.Tensor, name: str) -> torch.Tensor:
        """Batch norm with stored statistics: an affine map of each channel."""
        mean, variance, scale, shift = (
            self.weights[f"{name}.{leaf}"] for leaf in ("running_mean", "running_var", "weight", "bias")
        )
        return functional.batch_norm(inputs, mean, variance, scale, shift, eps=_BATCH_NORM_EPS)
