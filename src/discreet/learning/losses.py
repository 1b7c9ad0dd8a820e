"""The loss of each record, from a model's outputs: one output is binary, several are classes."""

from __future__ import annotations

import torch
from torch.nn import functional

from discreet.errors import ConfigurationError


def record_losses(outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Returns each record's cross entropy, shape ``(n,)``.

    Args:
        outputs: logits, shape ``(n, 1)`` for labels in {0, 1}, ``(n, k)`` for labels below k.
        labels: int64, shape ``(n,)``.

    Raises:
        ConfigurationError: if the outputs do not have one row a record.
    """
    if not (outputs.ndim == 2 and outputs.shape[0] == labels.shape[0]):
        raise ConfigurationError(
            f"A model must return one row of logits a record, shape ({labels.shape[0]}, k); "
            f"got {tuple(outputs.shape)}."
        )
    if outputs.shape[1] == 1:
        targets = labels.to(outputs.dtype)
        return functional.binary_cross_entropy_with_logits(outputs[:, 0], targets, reduction="none")
    return functional.cross_entropy(outputs, labels, reduction="none")


def mean_loss(outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Returns the mean of `record_losses`, for training without privacy."""
    return record_losses(outputs, labels).mean()
