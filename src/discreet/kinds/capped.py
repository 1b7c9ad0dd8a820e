r"""A convex loss whose gradient is capped: the sensitivity of clipping without losing convexity.

Let p be the probability that the head gives to a record's own class. `Capped` keeps the log loss while
1 - p <= c and goes on linearly below. It is the maximum over q of ⟨z, q - e_y⟩ + H(q), H the entropy, over
distributions q with q_y >= 1 - c; without that restriction the maximum is the log loss itself. So for
features of norm at most R:

- It is convex, as a maximum of functions that are affine in the logits z.
- Its gradient by the logits is q* - e_y for the best q*, of norm at most √2·c (softmax) or c (binary), so
  L is c times the head's own.
- H is as strongly concave on fewer distributions, so q* varies no faster with z than the probabilities do,
  and β stays (Rockafellar, Wets 1998, proposition 12.60).

q* is e_y plus the head's own residual, shortened by c / (1 - p) where 1 - p > c. For two classes this is
Huber's idea, and equals clipping gradients (Song, Steinke, Thakkar, Thakurta 2021, section 5); for more,
clipping by the own class's entry, not by the norm, is what keeps the residual a gradient. Of levels in an
order, or of several labels, the loss of each is capped, and their mean or sum has c times its bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.errors import ConfigurationError
from discreet.kinds.heads import BinaryLogistic, ConvexHead, MultiLabel, Ordinal
from discreet.kinds.huber import Huber
from discreet.kinds.stated_loss import StatedLoss


@dataclass(frozen=True, slots=True)
class Capped:
    """``head``'s loss, made linear for records whose own class gets a probability below 1 - ``cap``.

    Attributes:
        head: the linear head.
        cap: c, in (0, 1); noise is proportional to it, and so is what a badly predicted record contributes.

    Raises:
        ConfigurationError: if ``cap`` is not inside (0, 1).

    Example:
        >>> from discreet.kinds.heads import Softmax
        >>> Capped(Softmax(10), 0.5).lipschitz(1.0) / Softmax(10).lipschitz(1.0)
        0.5
    """

    head: ConvexHead
    cap: float

    def __post_init__(self) -> None:
        if not 0.0 < self.cap < 1.0:
            raise ConfigurationError(f"The 'cap' of Capped must be inside (0, 1); got {self.cap}.")

    @property
    def outputs(self) -> int:
        """Number of rows of the weight matrix."""
        return self.head.outputs

    def lipschitz(self, feature_norm_bound: float) -> float:
        """Bounds the norm of any record's gradient: c times the head's own bound."""
        return self.cap * self.head.lipschitz(feature_norm_bound)

    def smoothness(self, feature_norm_bound: float) -> float:
        """Bounds the largest eigenvalue of any record's Hessian: the head's own bound."""
        return self.head.smoothness(feature_norm_bound)

    def losses_and_residuals(self, logits: Floats, labels: Integers) -> tuple[Floats, Floats]:
        """Each record's loss, shape ``(n,)``, and its derivative by the logits, ``(n, outputs)``."""
        if isinstance(self.head, Ordinal | MultiLabel):
            return self.head.by_binary(Capped(BinaryLogistic(), self.cap), logits, labels)
        losses, residuals = self.head.losses_and_residuals(logits, labels)
        # The own class has the largest entry, 1 - p: the others share it (softmax), or there is none.
        missing = np.abs(residuals).max(axis=1, initial=0.0)
        far = missing > self.cap
        residuals[far] *= (self.cap / missing[far])[:, None]
        losses[far] = self.cap * (losses[far] + np.log(missing[far])) + _entropy(self.cap)
        return losses, residuals


Unweighted = ConvexHead | Capped | StatedLoss | Huber


def capped(head: ConvexHead, cap: float) -> ConvexHead | Capped:
    """Returns ``head`` with its residuals capped; a cap of 1 caps nothing."""
    return head if cap == 1.0 else Capped(head, cap)


def _entropy(probability: float) -> float:
    """The entropy of a coin, in nats."""
    return -probability * math.log(probability) - (1.0 - probability) * math.log1p(-probability)
