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
from discreet.kinds.sampling import UNKNOWN_BATCH, ExpectedBatch
from discreet.learning.clipping.shapes import chunk_length, chunks

# Little is left of a call's fixed costs at this length; the bits of a row do not depend on it.
_LONGEST = 512


def linear_chunk(expected: ExpectedBatch) -> int:
    """Returns how many rows are computed at once: a public number, whatever the number of records."""
    return chunk_length(expected, _LONGEST)


def flat_features(records: Records) -> Float32s:
    """Each record's features as one row, shape ``(n, p)``; also for no records."""
    return records.features.reshape(len(records), math.prod(records.features.shape[1:]))


def clipped_linear_sum(
    head: ConvexHead,
    weights: Floats,
    records: Records,
    clip_norm: float,
    *,
    expected: ExpectedBatch = UNKNOWN_BATCH,
) -> tuple[Floats, float, int]:
    """Returns the sum of clipped per-record gradients, shape ``(d,)``, float64, the summed loss, the count.

    A record's gradient is residual ⊗ features, whose norm is the product of the two norms; scaling the
    residual by the clipping factor scales the gradient. The count is that of `ClippedSum.within`.

    Args:
        head: the convex head.
        weights: shape ``(outputs, p)``.
        records: the batch.
        clip_norm: largest L2 norm of one record's contribution.
        expected: public guess of the number of records.
    """
    total, loss, within = np.zeros(weights.shape[::-1]), 0.0, 0
    for found in rows_by_chunk(head, weights, records, linear_chunk(expected)):
        kept = slice(None) if found.usable.all() else np.flatnonzero(found.usable)
        residuals, norms = found.residuals[kept], found.norms[kept]
        within += int(np.count_nonzero(norms <= clip_norm))
        loss += float(found.losses[kept].sum())
        residuals *= (clip_norm / np.maximum(norms, clip_norm))[:, None]
        total += found.features[kept].T @ residuals  # the other way round takes half as long again
    return total.T.ravel(), loss, within


def rows_by_chunk(head: ConvexHead, weights: Floats, records: Records, length: int) -> Iterator[LinearRows]:
    """Yields what the rows of each chunk of ``length`` give, in order; all are computed in this one shape.

    Chunks share their memory: what is yielded holds until the next one.
    """
    features, single = flat_features(records), in_single_precision(weights)
    rows, labels = np.empty((length, features.shape[1]), np.float32), np.zeros(length, np.int64)
    exact = np.empty(rows.shape)
    for part in chunks(len(records), length):
        count = part.stop - part.start
        rows[:count], labels[:count], rows[count:] = features[part], records.labels[part], 0.0
        exact[...] = rows
        yield linear_rows(head, single, rows, exact, labels).first(count)


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
    head: ConvexHead, weights: Float32s, features: Float32s, exact: Floats, labels: Integers
) -> LinearRows:
    """Computes the rows of one chunk, logits in float32: a residual may be any function of its own record.

    Only the norm and the sum must be exact. The weights are multiplied with one row after the other: BLAS may
    give the last rows of one large product other last bits than the first ones, whatever its shape.

    Args:
        head: the convex head.
        weights: shape ``(outputs, p)``.
        features: shape ``(L, p)``.
        exact: the same features in float64.
        labels: shape ``(L,)``.
    """
    last = head.num_classes - 1
    with np.errstate(all="ignore"):  # what overflows is not usable
        logits = np.matmul(weights, features[:, :, None])[:, :, 0].astype(np.float64)
        losses, residuals = head.losses_and_residuals(logits, np.minimum(labels, last))
        norms = np.sqrt(np.vecdot(residuals, residuals) * np.vecdot(exact, exact))
        finite = np.isfinite(losses) & np.isfinite(norms)
    return LinearRows(exact, losses, residuals, norms, finite & (labels <= last))


def in_single_precision(weights: Floats) -> Float32s:
    """Rounds to float32; what is too large for it becomes infinite."""
    with np.errstate(over="ignore"):
        return weights.astype(np.float32)
