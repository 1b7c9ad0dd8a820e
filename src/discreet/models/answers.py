"""The model of a run that asks questions: the released sums, where a training has its weights."""

from __future__ import annotations

import torch
from torch import nn

from discreet.errors import ConfigurationError


class Answers(nn.Module):
    """Sums of a run's questions, one after the other; it starts from zeros, and predicts nothing."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.sums = nn.Parameter(torch.zeros(dimension))

    def forward(self, _: torch.Tensor) -> torch.Tensor:
        """Refuses.

        Raises:
            ConfigurationError: always.
        """
        raise ConfigurationError("a run that asked questions has answers, and no model that predicts.")
