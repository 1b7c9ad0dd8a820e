"""Where a linear head begins: at public weights of a file, in place of zero."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath

import torch
from torch import nn

from discreet.errors import ConfigurationError
from discreet.models.convexity import OrdinalHead
from discreet.models.public_weights import PublicWeights, fill

_KNOB = (
    "Write one array 'weight' of a row for each output and a column for each feature, that of the constant "
    "last (docs/how-to/class-texts.md)."
)
_SUM_OF_NONE = 1e-5
"""To which part of their largest number the rows of a softmax head, less their mean, add up to zero."""


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
            name = PurePath(self.weights.path).name
            tensors = self.weights.tensors()
            fill(targets, tensors, name=name, knob=_KNOB)
            # A bias that is left out in silence would move every prediction: the constant's column is one.
            if others := sorted(tensors.keys() - targets.keys()):
                raise ConfigurationError(
                    f"{name} must hold 'weight' alone; it holds {others[0]!r} too. {_KNOB}"
                )
            _require_begun(head, name)
        else:
            fill(targets, self.weights, name="the released model", knob=_KNOB)


def _require_begun(head: nn.Module, name: str) -> None:
    """Refuses numbers from which nothing can begin, and a softmax head in place of one of levels."""
    for key, weight in head.named_parameters():
        if not torch.isfinite(weight).all():
            raise ConfigurationError(
                f"{name} must hold numbers that are finite as float32; {key!r} has NaN or infinity. Write "
                "the file anew."
            )
        if isinstance(head, OrdinalHead) and _adds_up_to_none(weight):
            raise ConfigurationError(
                f"{name} must hold a head of levels: a row that all levels share, then one for each level "
                "but the lowest; its rows add up to zero, as those of head_of_texts do, whose classes have "
                "no order. Take the model 'logistic', or the head of an ordinal model."
            )


def _adds_up_to_none(weight: torch.Tensor) -> bool:
    largest = weight.abs().max()
    return bool(largest > 0 and weight.double().sum(dim=0).abs().max() <= _SUM_OF_NONE * largest)
