"""Clipped gradient sums of linear heads in closed form: no autograd, no per-record gradients."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from discreet.data.records import Records
from discreet.models.convexity import ConvexHead

FloatArray = npt.NDArray[np.float64]


def flat_features(records: Records) -> npt.NDArray[np.float32]:
    """Each record's features as one row, shape ``(n, p)``; also for no records."""
    return records.features.reshape(len(records), math.prod(records.features.shape[1:]))


def clipped_linear_sum(
    head: ConvexHead,
    weights: FloatArray,
    features: FloatArray,
    labels: npt.NDArray[np.int64],
    clip_norm: float,
) -> tuple[FloatArray, float]:
    """Returns the sum of clipped per-record gradients, shape ``(d,)``, and the summed loss.

    A record's gradient is residual ⊗ features, whose norm is the product of the two norms; scaling the
    residual by the clipping factor scales the gradient.

    Args:
        head: the convex head.
        weights: shape ``(outputs, p)``.
        features: shape ``(n, p)``.
        labels: shape ``(n,)``.
        clip_norm: largest L2 norm of one record's contribution.
    """
    logits = features @ weights.T
    loss = float(head.losses(logits, labels).sum())
    residuals = head.residuals(logits, labels)
    norms_squared = np.einsum("nk,nk->n", residuals, residuals)
    norms_squared *= np.einsum("np,np->n", features, features)
    factors = clip_norm / np.maximum(np.sqrt(norms_squared), clip_norm)
    return ((residuals * factors[:, None]).T @ features).ravel(), loss
