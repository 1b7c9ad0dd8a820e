r"""Convex losses of linear heads, and how Lipschitz and smooth they are.

For features of norm at most R (the constant feature of the bias included) the loss of one record, as a
function of the weights, is convex, L-Lipschitz and β-smooth:

- binary logistic: the gradient is (σ(z) - y)·x, so L = R; the Hessian σ'(z)·xxᵀ is at most R²/4.
- softmax: the gradient is (p - e_y) ⊗ x with ‖p - e_y‖ ≤ √2, so L = √2·R; the Hessian is
  (diag p - ppᵀ) ⊗ xxᵀ, and the largest eigenvalue of diag p - ppᵀ is at most 1/2, so β = R²/2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from discreet.arrays import Floats, Integers
from discreet.errors import ConfigurationError, DataError


@dataclass(frozen=True, slots=True)
class BinaryLogistic:
    """One output; the loss is log(1 + exp(z)) - y·z for labels y in {0, 1}."""

    @property
    def outputs(self) -> int:
        """Number of rows of the weight matrix."""
        return 1

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


ConvexHead = BinaryLogistic | Softmax


def head_on(outputs: int) -> ConvexHead:
    """Returns the loss that a model of so many outputs is scored by: one is binary, several are classes."""
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
