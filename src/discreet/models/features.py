"""Public per-record feature maps for linear heads: no parameter is learned, no record sees another."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from discreet.arrays import Float32s
from discreet.models.scattering import Scattering
from discreet.models.threads import in_pieces

FeatureMap = Callable[[Float32s], Float32s]

_CHANNELS_PER_GROUP = 3


def centred_pixels(images: Float32s) -> Float32s:
    """Returns square roots of the pixels minus the image's own mean, shape ``(n, d)``.

    Args:
        images: values in [0, 1], any shape ``(n, ...)``.

    Example:
        >>> centred_pixels(np.array([[0.0, 1.0]], dtype=np.float32)).tolist()
        [[-0.5, 0.5]]
    """
    flat = np.sqrt(images.reshape(len(images), -1))
    return np.asarray(flat - flat.mean(axis=1, keepdims=True))


def scattering_maps(images: Float32s) -> Float32s:
    """Returns the maps of a scattering transform of depth 2 with 8 rotations, for networks on top of them.

    Args:
        images: values in [0, 1], shape ``(n, rows, columns)`` or ``(n, colours, rows, columns)``.

    Returns:
        Shape ``(n, channels, rows / 4, columns / 4)``, with 81 channels for each colour.
    """
    return Scattering()(images)


def normalised_scattering(images: Float32s) -> Float32s:
    """Returns scattering features, normalised per record in groups of three channels, shape ``(n, d)``.

    Tramèr and Boneh (2021), section 2.1, use the same features and show that group normalisation is what
    makes private linear models good.

    Args:
        images: values in [0, 1], shape ``(n, rows, columns)`` or ``(n, colours, rows, columns)``.
    """
    channels = scattering_maps(images)
    groups = channels.shape[1] // _CHANNELS_PER_GROUP
    return in_pieces(channels, lambda piece: torch.nn.functional.group_norm(piece, groups).flatten(1))
