"""How large the batch of one local step may be, from a public record capacity and a tail bound."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from scipy.stats import binom

GUARD_PROB = 1e-12


@dataclass(frozen=True, slots=True)
class BatchGuard:
    """No batch of a round exceeds ``max_batch``, except with probability ``failure_prob``."""

    max_batch: int
    failure_prob: float


@lru_cache(maxsize=256)
def batch_guard(record_capacity: int, entry_prob: float, num_batches: int) -> BatchGuard:
    r"""Returns the smallest guard that holds for a silo of at most ``record_capacity`` records.

    Guarantee:
        A union bound over ``num_batches`` batches, each at most Bin(``record_capacity``, ``entry_prob``):
        num_batches · P[Bin ≥ max_batch] ≤ 1e-12. The tail counts batches *equal* to ``max_batch`` too, so
        that the neighbour with one record more is covered as well (theory §2.4).

    Example:
        >>> batch_guard(5600, 1 / 88, 88).max_batch
        134
    """
    target = GUARD_PROB / num_batches
    max_batch = int(binom.isf(target, record_capacity, entry_prob)) + 1
    while num_batches * binom.sf(max_batch - 1, record_capacity, entry_prob) > GUARD_PROB:
        max_batch += 1
    if max_batch >= record_capacity:
        return BatchGuard(record_capacity, 0.0)
    return BatchGuard(max_batch, float(num_batches * binom.sf(max_batch - 1, record_capacity, entry_prob)))
