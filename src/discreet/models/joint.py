"""Several labels with two values each, as one class for every combination of theirs."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from discreet.errors import ConfigurationError


class JointLabels(nn.Module):
    """A network with a logit for each of K labels, as logits of their 2^K combinations.

    The combination y, whose bit k is the k-th label, has the logit Σ y_k·z_k, so that its probability is the
    product of those of its labels, and its cross entropy the sum of their binary ones.
    """

    bits: torch.Tensor

    def __init__(self, network: nn.Module, labels: int) -> None:
        super().__init__()
        self.network = network
        self.labels = labels
        self.register_buffer("bits", bits(labels), persistent=False)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Returns the logits of all combinations, shape ``(n, 2^K)``.

        Raises:
            ConfigurationError: if the network has not one output for each label.
        """
        outputs = self.network(features)
        if outputs.ndim != 2 or outputs.shape[1] != self.labels:
            raise ConfigurationError(
                f"a model for {self.labels} labels must return a logit for each, shape (n, {self.labels}); "
                f"got {tuple(outputs.shape)}. A factory is called with their number in place of num_classes."
            )
        # Zeros behind a row keep it from being computed otherwise in another place of a batch
        # (`discreet.learning.forward`).
        more = (0, -self.labels % 4)
        joint: torch.Tensor = functional.pad(outputs, more) @ functional.pad(self.bits, more).T
        return joint


def bits(labels: int) -> torch.Tensor:
    """Returns the labels of every combination, float32, shape ``(2^labels, labels)``."""
    # Constants, for ONNX has no shift.
    rows = [[float(number >> place & 1) for place in range(labels)] for number in range(1 << labels)]
    return torch.tensor(rows)


def labels_of(model: nn.Module) -> int:
    """Returns how many labels a model has; 0 where it is one, whatever its classes."""
    return model.labels if isinstance(model, JointLabels) else 0
