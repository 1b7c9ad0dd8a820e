r"""Public weights of classes: each record's loss times a number of its class, the largest of which is 1.

For a record with weight w ≤ 1 whose loss f is convex, L-Lipschitz and β-smooth, w·f is convex, wL-Lipschitz
and wβ-smooth, hence all three with L and β themselves: sensitivity, batch guard and the largest learning rate
are those without weights. Of a person, whose records have weights v with Σv ≤ 1, Σ v·w ≤ 1 still holds
(docs/theory/steps.md, weights of classes).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import BeforeValidator, Discriminator, Field, Tag

from discreet.arrays import Floats, Integers
from discreet.errors import ConfigurationError
from discreet.kinds.capped import Capped, Unweighted
from discreet.kinds.fields import Positive
from discreet.kinds.heads import ConvexHead, head_on
from discreet.kinds.huber import Huber
from discreet.kinds.preparation import ClassWeightsConfig
from discreet.kinds.stated_loss import StatedLoss


@dataclass(frozen=True, slots=True)
class Weighted:
    """``loss`` times a public weight of the record's class.

    Attributes:
        loss: of the logits, capped or not.
        by_class: a weight for each class, in (0, 1].

    Raises:
        ConfigurationError: if a weight is outside (0, 1], or there is not one for each class.

    Example:
        >>> from discreet.kinds.heads import BinaryLogistic
        >>> loss = Weighted(BinaryLogistic(), (0.1, 1.0))
        >>> loss.losses_and_residuals(np.zeros((2, 1)), np.array([0, 1]))[1].ravel().tolist()
        [0.05, -0.5]
    """

    loss: Unweighted
    by_class: tuple[float, ...]

    def __post_init__(self) -> None:
        if not all(0.0 < weight <= 1.0 for weight in self.by_class):
            raise ConfigurationError(
                f"Weights of classes must be in (0, 1]; got {list(self.by_class)}. Divide by the largest."
            )
        classes = max(2, self.loss.outputs)
        if len(self.by_class) != classes:
            raise ConfigurationError(
                f"'training.local.class_weights' must have a number for each of {classes} classes; got "
                f"{len(self.by_class)}."
            )

    @property
    def outputs(self) -> int:
        """Number of rows of the weight matrix."""
        return self.loss.outputs

    def lipschitz(self, feature_norm_bound: float) -> float:
        """Bounds the norm of any record's gradient: that without weights, which are at most 1."""
        return self.loss.lipschitz(feature_norm_bound)

    def smoothness(self, feature_norm_bound: float) -> float:
        """Bounds the largest eigenvalue of any record's Hessian: that without weights."""
        return self.loss.smoothness(feature_norm_bound)

    def losses_and_residuals(self, logits: Floats, labels: Integers) -> tuple[Floats, Floats]:
        """Each record's loss, shape ``(n,)``, and its derivative by the logits, ``(n, outputs)``."""
        losses, residuals = self.loss.losses_and_residuals(logits, labels)
        weights = np.asarray(self.by_class)[labels]
        return weights * losses, weights[:, None] * residuals


ConvexLoss = Unweighted | Weighted


def weighted(loss: Unweighted, stated: ClassWeights | None) -> ConvexLoss:
    """Returns ``loss`` with the stated weights divided by their largest; itself if none are stated.

    Weights that noisy counts are to give are 1 each until these are known.

    Raises:
        ConfigurationError: if there is not one for each class.
    """
    if isinstance(stated, ClassWeightsConfig):
        return Weighted(loss, (1.0,) * max(2, loss.outputs))
    return loss if stated is None else Weighted(loss, tuple(weight / max(stated) for weight in stated))


def weights_text(stated: ClassWeights) -> str:
    """Words weights as they were stated.

    Example:
        >>> weights_text([1, 10])
        '1 to 10'
    """
    if isinstance(stated, ClassWeightsConfig):
        return f"by noisy counts, at most {stated.most:g} to 1"
    return " to ".join(f"{weight:g}" for weight in stated)


def unweighted(loss: ConvexLoss) -> Unweighted:
    """Returns the loss of a record of the class that counts in full."""
    return loss.loss if isinstance(loss, Weighted) else loss


def linear_head_of(loss: ConvexLoss) -> ConvexHead:
    """Returns the head that a model must be for ``loss``."""
    plain = unweighted(loss)
    if isinstance(plain, StatedLoss | Huber):
        return head_on(plain.outputs)
    return plain.head if isinstance(plain, Capped) else plain


def _public(stated: object) -> object:
    """Refuses weights that would have to be worked out from the records, and what is no list of weights."""
    if isinstance(stated, str):
        raise ValueError(
            'must be public numbers, one for each class, as in [1, 10], or { kind = "private" }, which adds '
            "noise to their counts: how frequent classes are is counted from private records"
        )
    numbers = list(stated) if isinstance(stated, Sequence) else []
    if len(numbers) < 2 or not all(_weighs(one) for one in numbers):
        raise ValueError(
            "must be a list of two or more numbers above 0, one for each class in the order of the classes, "
            "as in [1, 10]" + ("" if isinstance(stated, int | float) else f"; got {stated!r}")
        )
    return stated


def _weighs(one: object) -> bool:
    """Says whether something is a positive number."""
    return isinstance(one, int | float) and not isinstance(one, bool) and 0.0 < one < math.inf


def _is_table(stated: object) -> str:
    named = isinstance(stated, ClassWeightsConfig) or (isinstance(stated, Mapping) and "kind" in stated)
    return "private" if named else "public"


ClassWeights = tuple[float, ...] | ClassWeightsConfig
_Public = Annotated[tuple[Positive, ...], Field(min_length=2), BeforeValidator(_public)]
StatedWeights = Annotated[
    Annotated[_Public, Tag("public")] | Annotated[ClassWeightsConfig, Tag("private")],
    Discriminator(_is_table),
]
