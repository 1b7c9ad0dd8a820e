"""How large the batch of one local step may be, from a public record capacity and a tail bound."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import betainc

from discreet.arrays import Indices
from discreet.errors import PrivacyViolation
from discreet.randomness import RandomSource

MOST_FAILURE_PROB = 1e-12
# Tails are exact to many digits above, in float64, and may be 0 far below.
_SMALLEST_TAIL = 1e-250
_KEYS = 1 << 61


@dataclass(frozen=True, slots=True)
class BatchGuard:
    """No batch of a round exceeds ``max_batch``, except with probability ``failure_prob``."""

    max_batch: int
    failure_prob: float


@lru_cache(maxsize=256)
def batch_guard(
    record_capacity: int, entry_prob: float, num_batches: int, failure_prob: float = MOST_FAILURE_PROB
) -> BatchGuard:
    r"""Returns the smallest guard that holds for a silo of at most ``record_capacity`` records.

    Guarantee:
        A union bound over ``num_batches`` batches, each at most Bin(``record_capacity``, ``entry_prob``):
        num_batches · P[Bin ≥ max_batch] ≤ ``failure_prob``. The tail counts batches *equal* to ``max_batch``
        too, so that the neighbour with one record more is covered as well (docs/theory/rows.md).

    Example:
        >>> batch_guard(5600, 1 / 88, 88).max_batch
        134
    """

    def failure(max_batch: int) -> float:
        return num_batches * _reaches(max_batch, record_capacity, entry_prob)

    # The failure does not grow with the size, so that its negative is sorted.
    sizes = range(1, record_capacity)
    max_batch = 1 + bisect_left(sizes, -failure_prob, key=lambda size: -failure(size))
    if failure_prob < _SMALLEST_TAIL or max_batch >= record_capacity:
        return BatchGuard(record_capacity, 0.0)
    return BatchGuard(max_batch, failure(max_batch))


def _reaches(size: int, count: int, prob: float) -> float:
    """Returns P[Bin(``count``, ``prob``) ≥ ``size``], for 1 ≤ size ≤ count, by the beta function."""
    return float(betainc(size, count - size + 1, prob))


def guarded_batches(
    entered: Indices, steps: int, guard: BatchGuard, randomness: RandomSource
) -> list[Indices]:
    """Gives each record that entered a step of its own choice; returns the rows of every step.

    Raises:
        PrivacyViolation: if a batch exceeds the guard.
    """
    assigned = randomness.integers_below(len(entered), steps)
    sizes = np.bincount(assigned, minlength=steps)
    if not int(sizes.max()) <= guard.max_batch:
        raise PrivacyViolation(
            "A batch of local steps exceeded its guard and the round was stopped; nothing left the silo. "
            f"This happens with probability below {MOST_FAILURE_PROB:g} a round; run the round again."
        )
    order = np.argsort(assigned, kind="stable")
    return np.split(entered[order], np.cumsum(sizes)[:-1])


def random_order(entered: Indices, randomness: RandomSource) -> Indices:
    """Puts those that entered into the order of a key of each one's own, so that nobody moves the others."""
    keys = randomness.integers_below(len(entered), _KEYS)
    return entered[np.argsort(keys, kind="stable")]


def require_capacity(record_count: int, record_capacity: int) -> None:
    """Refuses more records than the public capacity that the guard was computed from."""
    if not record_count <= record_capacity:
        raise PrivacyViolation(
            "A silo must not hold more training records than its public record_capacity "
            f"{record_capacity}. Raise record_capacity in the plan, or leave records out."
        )
