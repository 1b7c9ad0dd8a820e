"""Batch norm where a whole update is clipped: its running statistics are weights like the others.

A released model answers each record by the running statistics; nothing else of the data stays in a layer.
"""

from __future__ import annotations

import torch
from torch import nn

from discreet.errors import ConfigurationError, HowTo


def batch_norm_layers(model: nn.Module) -> list[tuple[str, nn.modules.batchnorm._BatchNorm]]:
    """Returns the layers of batch norm with their names, in the model's order."""
    return [
        (name or type(module).__name__, module)
        for name, module in model.named_modules()
        if isinstance(module, nn.modules.batchnorm._BatchNorm)
    ]


def running_statistics(model: nn.Module) -> list[torch.Tensor]:
    """Returns the running statistics of all layers: every mean, then every variance, in the model's order."""
    layers = [layer for _, layer in batch_norm_layers(model)]
    means = [layer.running_mean for layer in layers if layer.running_mean is not None]
    variances = [layer.running_var for layer in layers if layer.running_var is not None]
    return [*means, *variances]


def without_counts(model: nn.Module) -> nn.Module:
    """Takes the count of batches out of every layer of batch norm: a number of steps, hence of records."""
    for _, layer in batch_norm_layers(model):
        layer.num_batches_tracked = None
    return model


def check_batch_norm(name: str, layer: nn.modules.batchnorm._BatchNorm) -> None:
    """Refuses a layer of batch norm whose statistics are not those that travel with the weights.

    Raises:
        ConfigurationError: naming the layer and what to change.
    """
    known = isinstance(layer, nn.BatchNorm1d | nn.BatchNorm2d | nn.BatchNorm3d)
    if not known or layer.running_mean is None or layer.num_batches_tracked is not None:
        raise ConfigurationError(
            "batch norm must be nn.BatchNorm1d, 2d or 3d with track_running_stats=True, without which a "
            f"released model's answer for one record would depend on others; got {layer} at {name!r}.",
            see=HowTo.OWN_MODEL,
        )
    if layer.momentum is None or not 0.0 < layer.momentum <= 1.0:
        raise ConfigurationError(
            "the momentum of batch norm must be in (0, 1], a public share of each batch; got "
            f"{layer.momentum} at {name!r}. Leave it out, or set it to 0.1.",
            see=HowTo.OWN_MODEL,
        )
