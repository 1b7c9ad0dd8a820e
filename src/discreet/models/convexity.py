r"""Linear heads with a convex loss, and how Lipschitz and smooth that loss is.

For features of norm at most R (the constant feature of the bias included) the loss of one record, as a
function of the weights, is convex, L-Lipschitz and β-smooth:

- binary logistic: the gradient is (σ(z) - y)·x, so L = R; the Hessian σ'(z)·xxᵀ is at most R²/4.
- softmax: the gradient is (p - e_y) ⊗ x with ‖p - e_y‖ ≤ √2, so L = √2·R; the Hessian is
  (diag p - ppᵀ) ⊗ xxᵀ, and the largest eigenvalue of diag p - ppᵀ is at most 1/2, so β = R²/2.

Both are read off the model, never typed in by hand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import expit
from torch import nn

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


class LinearHead(nn.Module):
    """Flattened features times one weight matrix that starts at zero; the bias is a constant feature."""

    def __init__(self, num_features: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(outputs, num_features))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Returns logits, shape ``(n, outputs)``."""
        return features.flatten(1) @ self.weight.T


def convexity(model: nn.Module) -> ConvexHead | None:
    """Returns the convex head that ``model`` is, or None when no convexity is known.

    Recognised: `LinearHead`, and an `nn.Linear` without bias, alone or after `nn.Flatten` in an
    `nn.Sequential`. One output is `BinaryLogistic`, several are `Softmax`.

    Example:
        >>> convexity(nn.Linear(5, 3, bias=False))
        Softmax(num_classes=3)
        >>> convexity(nn.Sequential(nn.Linear(5, 5), nn.ReLU(), nn.Linear(5, 3))) is None
        True
    """
    layers = list(model) if type(model) is nn.Sequential else [model]
    if len(layers) == 2 and type(layers[0]) is nn.Flatten and layers[0].start_dim == 1:
        layers = layers[1:]
    if len(layers) != 1:
        return None
    (layer,) = layers
    is_linear = type(layer) is LinearHead or (type(layer) is nn.Linear and layer.bias is None)
    if not (is_linear and isinstance(layer.weight, nn.Parameter) and layer.weight.requires_grad):
        return None
    outputs = layer.weight.shape[0]
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
