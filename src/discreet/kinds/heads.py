r"""Convex losses of linear heads, and how Lipschitz and smooth they are.

For features of norm at most R (the constant feature of the bias included) the loss of one record, as a
function of the weights, is convex, L-Lipschitz and β-smooth:

- binary logistic: the gradient is (σ(z) - y)·x, so L = R; the Hessian σ'(z)·xxᵀ is at most R²/4.
- softmax: the gradient is (p - e_y) ⊗ x with ‖p - e_y‖ ≤ √2, so L = √2·R; the Hessian is
  (diag p - ppᵀ) ⊗ xxᵀ, and the largest eigenvalue of diag p - ppᵀ is at most 1/2, so β = R²/2.
- ordinal: a mean of K - 1 binary losses; L = √(1 + 1/(K - 1))·R and β = (1 + 1/(K - 1))·R²/4, see `Ordinal`.
- several labels: a sum of K binary losses; L = √K·R and β = R²/4, see `MultiLabel`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit

from discreet.arrays import Floats, Integers
from discreet.errors import ConfigurationError, DataError

_FEWEST_LEVELS = 3


@dataclass(frozen=True, slots=True)
class BinaryLogistic:
    """One output; the loss is log(1 + exp(z)) - y·z for labels y in {0, 1}."""

    @property
    def outputs(self) -> int:
        """Number of rows of the weight matrix."""
        return 1

    @property
    def num_classes(self) -> int:
        """Labels are below this."""
        return 2

    def lipschitz(self, feature_norm_bound: float) -> float:
        """Bounds the norm of any record's gradient: R."""
        return _checked(feature_norm_bound)

    def smoothness(self, feature_norm_bound: float) -> float:
        """Bounds the largest eigenvalue of any record's Hessian: R²/4."""
        return _checked(feature_norm_bound) ** 2 / 4.0

    def losses_and_residuals(self, logits: Floats, labels: Integers) -> tuple[Floats, Floats]:
        """Each record's loss, shape ``(n,)``, and its derivative by the logits, shape ``(n, 1)``."""
        _require_labels(labels, 2)
        losses: Floats = np.logaddexp(0.0, logits[:, 0]) - labels * logits[:, 0]
        return losses, np.asarray(expit(logits)) - labels[:, None]


@dataclass(frozen=True, slots=True)
class Softmax:
    """``num_classes`` outputs; the loss is the cross entropy of the softmax."""

    num_classes: int

    def __post_init__(self) -> None:
        if not self.num_classes >= 2:
            raise ConfigurationError(f"Softmax must have at least 2 classes; got {self.num_classes}.")

    @property
    def outputs(self) -> int:
        """Number of rows of the weight matrix."""
        return self.num_classes

    def lipschitz(self, feature_norm_bound: float) -> float:
        """Bounds the norm of any record's gradient: √2·R."""
        return math.sqrt(2.0) * _checked(feature_norm_bound)

    def smoothness(self, feature_norm_bound: float) -> float:
        """Bounds the largest eigenvalue of any record's Hessian: R²/2."""
        return _checked(feature_norm_bound) ** 2 / 2.0

    def losses_and_residuals(self, logits: Floats, labels: Integers) -> tuple[Floats, Floats]:
        """Each record's loss, shape ``(n,)``, and its derivative by the logits, ``(n, num_classes)``."""
        _require_labels(labels, self.num_classes)
        rows = np.arange(len(labels))
        residuals = logits - logits.max(axis=1, keepdims=True)
        own = residuals[rows, labels]
        np.exp(residuals, out=residuals)
        mass = residuals.sum(axis=1)
        residuals /= mass[:, None]
        residuals[rows, labels] -= 1.0
        return np.asarray(np.log(mass) - own), residuals


class BinaryLoss(Protocol):
    """What scores one question with two answers: binary logistic, capped or not."""

    def losses_and_residuals(self, logits: Floats, labels: Integers) -> tuple[Floats, Floats]:
        """Each answer's loss, shape ``(n,)``, and its derivative by the logits, ``(n, 1)``."""


@dataclass(frozen=True, slots=True)
class Ordinal:
    r"""``num_classes`` outputs z_0, ..., z_(K-1) for levels in an order; z_0 is a score that all share.

    The margin of level k, from 1, is m_k = z_0 + z_k + log((K - k)/k), and σ(m_k) the probability that a
    record is of that level or a higher one: a cumulative logit with a threshold for each level, which may
    lean on the features (partial proportional odds: Peterson, Harrell 1990). At zero weights all levels are
    as probable. The loss is the mean over k of the binary logistic losses of m_k, for the answers to "is the
    label at least k?" (Frank, Hall 2001; all thresholds: Rennie, Srebro 2005).

    With residuals r_k in [-1, 1] of the binary losses and K' = K - 1, the derivative by z is
    (Σ r_k, r_1, ..., r_K')/K'. Its square is ((Σ r_k)² + Σ r_k²)/K'² ≤ (K'² + K')/K'², so L = √(1 + 1/K')·R.
    The Hessian by z is Σ σ'(m_k)·a_k a_kᵀ/K' for a_k = e_0 + e_k; σ' ≤ 1/4, and Σ a_k a_kᵀ has the largest
    eigenvalue of the Gram matrix 11ᵀ + I, K' + 1, so β = (1 + 1/K')·R²/4.
    """

    num_classes: int

    def __post_init__(self) -> None:
        if not self.num_classes >= _FEWEST_LEVELS:
            raise ConfigurationError(
                f"Ordinal must have at least {_FEWEST_LEVELS} classes; got {self.num_classes}. Use the model "
                "'logistic'."
            )

    @property
    def outputs(self) -> int:
        """Number of rows of the weight matrix."""
        return self.num_classes

    @property
    def offsets(self) -> tuple[float, ...]:
        """What is added to the margin of each level but the lowest."""
        return tuple(math.log((self.num_classes - k) / k) for k in range(1, self.num_classes))

    def lipschitz(self, feature_norm_bound: float) -> float:
        """Bounds the norm of any record's gradient: √(1 + 1/(K - 1))·R."""
        return math.sqrt(1.0 + 1.0 / (self.num_classes - 1)) * _checked(feature_norm_bound)

    def smoothness(self, feature_norm_bound: float) -> float:
        """Bounds the largest eigenvalue of any record's Hessian: (1 + 1/(K - 1))·R²/4."""
        return (1.0 + 1.0 / (self.num_classes - 1)) * _checked(feature_norm_bound) ** 2 / 4.0

    def losses_and_residuals(self, logits: Floats, labels: Integers) -> tuple[Floats, Floats]:
        """Each record's loss, shape ``(n,)``, and its derivative by the logits, ``(n, num_classes)``."""
        return self.by_binary(BinaryLogistic(), logits, labels)

    def by_binary(self, binary: BinaryLoss, logits: Floats, labels: Integers) -> tuple[Floats, Floats]:
        """Returns the same with ``binary`` as the loss of each level."""
        _require_labels(labels, self.num_classes)
        levels = self.num_classes - 1
        margins = logits[:, :1] + logits[:, 1:] + np.asarray(self.offsets)
        answers = (labels[:, None] >= np.arange(1, self.num_classes)).astype(np.int64)
        losses, parts = binary.losses_and_residuals(margins.reshape(-1, 1), answers.ravel())
        residuals = np.empty_like(logits)
        residuals[:, 1:] = parts.reshape(-1, levels) / levels
        residuals[:, 0] = residuals[:, 1:].sum(axis=1)
        return losses.reshape(-1, levels).mean(axis=1), residuals


MOST_LABELS = 8
"""A record's labels together are one of 2^8 classes at most, which are written out."""


@dataclass(frozen=True, slots=True)
class MultiLabel:
    r"""``labels`` outputs, one for each of K labels with two values; their losses are added up.

    A record's labels are one number, whose bit k, from 0, is the k-th label. With binary residuals
    r_k in [-1, 1] the derivative by the logits is (r_1, ..., r_K), no longer than √K, so L = √K·R. Every loss
    looks at its own logit alone: the Hessian by the logits is diagonal with entries σ' ≤ 1/4, so β = R²/4,
    as for one label. The sum is the log loss of the labels taken for independent given the features.
    """

    labels: int

    def __post_init__(self) -> None:
        if not 2 <= self.labels <= MOST_LABELS:
            raise ConfigurationError(f"MultiLabel must have 2 to {MOST_LABELS} labels; got {self.labels}.")

    @property
    def outputs(self) -> int:
        """Number of rows of the weight matrix."""
        return self.labels

    @property
    def num_classes(self) -> int:
        """Labels are below this: every combination is a class."""
        return 1 << self.labels

    def lipschitz(self, feature_norm_bound: float) -> float:
        """Bounds the norm of any record's gradient: √K·R."""
        return math.sqrt(self.labels) * _checked(feature_norm_bound)

    def smoothness(self, feature_norm_bound: float) -> float:
        """Bounds the largest eigenvalue of any record's Hessian: R²/4."""
        return _checked(feature_norm_bound) ** 2 / 4.0

    def losses_and_residuals(self, logits: Floats, labels: Integers) -> tuple[Floats, Floats]:
        """Each record's loss, shape ``(n,)``, and its derivative by the logits, ``(n, labels)``."""
        return self.by_binary(BinaryLogistic(), logits, labels)

    def by_binary(self, binary: BinaryLoss, logits: Floats, labels: Integers) -> tuple[Floats, Floats]:
        """Returns the same with ``binary`` as the loss of each label."""
        _require_labels(labels, self.num_classes)
        answers = (labels[:, None] >> np.arange(self.labels)) & 1
        losses, parts = binary.losses_and_residuals(logits.reshape(-1, 1), answers.ravel())
        return losses.reshape(-1, self.labels).sum(axis=1), parts.reshape(-1, self.labels)


ConvexHead = BinaryLogistic | Softmax | Ordinal | MultiLabel


def head_on(outputs: int, *, ordinal: bool = False, several: bool = False) -> ConvexHead:
    """Returns the loss of a linear head: one output is binary, several are classes, levels or labels."""
    if ordinal:
        return Ordinal(outputs)
    if several:
        return MultiLabel(outputs)
    return BinaryLogistic() if outputs == 1 else Softmax(outputs)


def _require_labels(labels: Integers, num_classes: int) -> None:
    """The bounds above hold for labels of the model's own classes only."""
    if not (len(labels) == 0 or int(labels.max()) < num_classes):
        raise DataError(
            f"Labels must be below the model's number of classes {num_classes}; at least one is not. "
            "Set the number of classes in the data section."
        )


def _checked(feature_norm_bound: float) -> float:
    if not (feature_norm_bound > 0 and math.isfinite(feature_norm_bound)):
        raise ConfigurationError(
            f"The feature norm bound must be positive and finite; got {feature_norm_bound}."
        )
    return feature_norm_bound
