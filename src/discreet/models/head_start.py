"""Where a linear head begins: at public weights of a file, in place of zero."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath

import torch
from torch import nn

from discreet.models.public_weights import PublicWeights, fill

_KNOB = (
    "Write one array 'weight' of a row for each output and a column for each feature, that of the constant "
    "last (docs/how-to/class-texts.md)."
)


@dataclass(frozen=True, slots=True)
class HeadStart:
    """The weights of a linear head before the first round.

    A file holds what a released head holds, so that of one is such a file: an array ``weight``, whose logits
    are those of a record as training has it, with its constant and scaled to the norm bound.

    Attributes:
        weights: a file's, or the tensors of a released model.
    """

    weights: PublicWeights | Mapping[str, torch.Tensor]

    def apply(self, head: nn.Module) -> None:
        """Writes them into a head, in place.

        Raises:
            ConfigurationError: if the file cannot be read, is another one than was agreed, or does not fit.
        """
        targets = dict(head.named_parameters())
        if isinstance(self.weights, PublicWeights):
            fill(targets, self.weights.tensors(), name=PurePath(self.weights.path).name, knob=_KNOB)
        else:
            fill(targets, self.weights, name="the released model", knob=_KNOB)
