"""The loss of each record, from a model's outputs: one output is binary, several are classes."""

from __future__ import annotations

import torch
from torch.nn import functional

from discreet.data.labels import PARTS
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


def last_class(outputs: int) -> int:
    """Returns the largest label that so many outputs know; one output is binary."""
    return max(outputs, 2) - 1


def known_labels(outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Returns labels that `record_losses` accepts: one beyond the model's classes becomes the last class.

    Torch raises an error for such a label, which one record could decide.
    """
    return labels.clamp(max=last_class(outputs.shape[-1]))


def number_losses(outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Returns half the squared error of each record, shape ``(n,)``, for a label that is a number.

    Args:
        outputs: shape ``(n, 1)``.
        labels: int64, places in the public range, as of `discreet.data.labels.Outcome`.
    """
    off = outputs[:, 0].double() - (labels.double() / PARTS - 1.0)
    return off.square() / 2.0


def mean_loss(outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Returns the mean of `record_losses`, for training without privacy."""
    return record_losses(outputs, labels).mean()
