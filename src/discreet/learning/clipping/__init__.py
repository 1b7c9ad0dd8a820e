"""Sums of clipped per-record gradients, without per-record gradients where they can be avoided."""

from discreet.learning.clipping.clipped_sum import ClippedSum, clipped_gradient_sum
from discreet.learning.clipping.per_record import PerRecordFallbackWarning

__all__ = [
    "ClippedSum",
    "PerRecordFallbackWarning",
    "clipped_gradient_sum",
]
