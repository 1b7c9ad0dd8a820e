"""Clipped gradient sums of linear heads in closed form: no autograd, no per-record gradients."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from discreet.data.records import Records
from discreet.models.convexity import ConvexHead

FloatArray = npt.NDArray[np.float64]

# Float64 copies of so many records stay in the processor's cache.
_CHUNK = 64


def flat_features(records: Records) -> npt.NDArray[np.float32]:
    """Each record's features as one row, shape ``(n, p)``; also for no records."""
    return records.features.reshape(len(records), math.prod(records.features.shape[1:]))


def clipped_linear_sum(
    head: ConvexHead, weights: FloatArray, records: Records, clip_norm: float
) -> tuple[FloatArray, float, int]:
    """Returns the sum of clipped per-record gradients, shape ``(d,)``, float64, the summed loss, the count.

    A record's gradient is residual ⊗ features, whose norm is the product of the two norms; scaling the
    residual by the clipping factor scales the gradient. Logits are computed in float32: a residual may be
    any function of its own record, only the norm and the sum must be exact. The count is that of
    `ClippedSum.within`.

    Args:
        head: the convex head.
        weights: shape ``(outputs, p)``.
        records: the batch.
        clip_norm: largest L2 norm of one record's contribution.
    """
    features = flat_features(records)
    logits = (features @ weights.T.astype(np.float32)).astype(np.float64)
    losses, residuals = head.losses_and_residuals(logits, records.labels)
    residual_norms = np.linalg.vector_norm(residuals, axis=1)
    total, within = np.zeros_like(weights), 0
    for first in range(0, len(records), _CHUNK):
        chunk = slice(first, first + _CHUNK)
        exact = features[chunk].astype(np.float64)
        norms = residual_norms[chunk] * np.sqrt(np.vecdot(exact, exact))
        within += int(np.count_nonzero(norms <= clip_norm))
        factors = clip_norm / np.maximum(norms, clip_norm)
        total += (residuals[chunk] * factors[:, None]).T @ exact
    return total.ravel(), float(losses.sum()), within
