"""Clipped gradient sums of linear heads in closed form: no autograd, no per-record gradients."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.arrays import Float32s, Floats, Integers
from discreet.data.records import Records
from discreet.kinds.heads import ConvexHead
from discreet.learning.clipping.shapes import chunks

# The length of every chunk, whatever the number of records; float64 copies of so many stay in the cache.
CHUNK = 64


def flat_features(records: Records) -> Float32s:
    """Each record's features as one row, shape ``(n, p)``; also for no records."""
    return records.features.reshape(len(records), math.prod(records.features.shape[1:]))


def clipped_linear_sum(
    head: ConvexHead, weights: Floats, records: Records, clip_norm: float
) -> tuple[Floats, float, int]:
    """Returns the sum of clipped per-record gradients, shape ``(d,)``, float64, the summed loss, the count.

    A record's gradient is residual ⊗ features, whose norm is the product of the two norms; scaling the
    residual by the clipping factor scales the gradient. The count is that of `ClippedSum.within`.

    Args:
        head: the convex head.
        weights: shape ``(outputs, p)``.
        records: the batch.
        clip_norm: largest L2 norm of one record's contribution.
    """
    total, loss, within = np.zeros_like(weights), 0.0, 0
    for found in rows_by_chunk(head, weights, records):
        kept = slice(None) if found.usable.all() else np.flatnonzero(found.usable)
        residuals, norms = found.residuals[kept], found.norms[kept]
        within += int(np.count_nonzero(norms <= clip_norm))
        loss += float(found.losses[kept].sum())
        total += (residuals * (clip_norm / np.maximum(norms, clip_norm))[:, None]).T @ found.features[kept]
    return total.ravel(), loss, within


def rows_by_chunk(head: ConvexHead, weights: Floats, records: Records) -> Iterator[LinearRows]:
    """Yields what the rows of each chunk give, in order; every chunk has one shape when it is computed."""
    features, single = flat_features(records), in_single_precision(weights)
    rows, labels = np.zeros((CHUNK, features.shape[1]), np.float32), np.zeros(CHUNK, np.int64)
    for part in chunks(len(records), CHUNK):
        count = part.stop - part.start
        rows[:count], labels[:count] = features[part], records.labels[part]  # padding may be any row
        yield linear_rows(head, single, rows, labels).first(count)


@dataclass(frozen=True, slots=True, repr=False)
class LinearRows:
    """Private: what each row of a chunk gives by itself; ``usable`` says where all of it is a finite number.

    Attributes:
        features: shape ``(L, p)``, float64.
        losses: shape ``(L,)``.
        residuals: the losses' derivatives by the logits, shape ``(L, outputs)``.
        norms: L2 norms of the gradients, shape ``(L,)``.
        usable: shape ``(L,)``; false also for a label that is not one of the head's.
    """

    features: Floats
    losses: Floats
    residuals: Floats
    norms: Floats
    usable: npt.NDArray[np.bool_]

    def first(self, count: int) -> LinearRows:
        """Returns the first rows, without padding."""
        kept = slice(0, count)
        return LinearRows(
            self.features[kept], self.losses[kept], self.residuals[kept], self.norms[kept], self.usable[kept]
        )


def linear_rows(
    head: ConvexHead,
    weights: Float32s,
    features: Float32s,
    labels: Integers,
) -> LinearRows:
    """Computes the rows of one chunk, logits in float32: a residual may be any function of its own record.

    Only the norm and the sum must be exact. The weights are multiplied with one row after the other: BLAS may
    give the last rows of one large product other last bits than the first ones, whatever its shape.
    """
    last = head.num_classes - 1
    with np.errstate(all="ignore"):  # what overflows is not usable
        logits = np.matmul(weights, features[:, :, None])[:, :, 0].astype(np.float64)
        losses, residuals = head.losses_and_residuals(logits, np.minimum(labels, last))
        exact = features.astype(np.float64)
        norms = np.sqrt(np.vecdot(residuals, residuals) * np.vecdot(exact, exact))
        finite = np.isfinite(losses) & np.isfinite(norms)
    return LinearRows(exact, losses, residuals, norms, finite & (labels <= last))


def in_single_precision(weights: Floats) -> Float32s:
    """Rounds to float32; what is too large for it becomes infinite."""
    with np.errstate(over="ignore"):
        return weights.astype(np.float32)
