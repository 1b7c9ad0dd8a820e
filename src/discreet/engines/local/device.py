"""The device that networks run on, asked for by name."""

from __future__ import annotations

import torch

from discreet.errors import ConfigurationError


def torch_device(name: str) -> torch.device:
    """Returns the device that ``speed.device`` names.

    Raises:
        ConfigurationError: if this machine, or this build of torch, does not have it.

    Example:
        >>> torch_device("cpu")
        device(type='cpu')
    """
    if name == "cuda" and not torch.cuda.is_available():
        raise ConfigurationError(
            "'speed.device' must be a device of this machine; torch finds no CUDA device here. "
            'Set speed.device = "cpu", or install a build of torch with CUDA and its driver.'
        )
    return torch.device(name)
