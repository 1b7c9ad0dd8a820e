"""Uniform reals as endless bit strings: 64 bits now, the rest on demand and always the same.

A sampler draws one 64-bit word per uniform. In the rare case in which 64 bits do not decide the outcome,
the digits that follow are looked up in a SHAKE-256 stream keyed by 256 bits from the same source. The
outcome is thereby a function of the source alone: it does not depend on the machine's rounding, on the
number of threads, or on how often more digits were wanted.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Self

from discreet.mechanisms.intervals import Interval
from discreet.randomness import RandomSource

FIRST_EXTRA_BITS = 64
GUARD_BITS = 160

_KEY_BYTES = 32


@dataclass(frozen=True, slots=True, repr=False)
class Tails:
    """The binary digits after the first 64 of every uniform of one batch, named by (purpose, index)."""

    key: bytes

    @classmethod
    def drawn_from(cls, randomness: RandomSource) -> Self:
        """Keys the digits with 256 fresh bits."""
        return cls(randomness.random_bytes(_KEY_BYTES))

    def uniform(self, word: int, purpose: bytes, index: int, extra_bits: int) -> Interval:
        """The uniform in [0, 1) that starts with the 64-bit ``word``, known to ``64 + extra_bits`` bits.

        ``extra_bits`` must be a multiple of 8; more bits only narrow the interval.
        """
        known = self.leading(word, purpose, index, 64 + extra_bits)
        return Interval.dyadic(known, -64 - extra_bits, GUARD_BITS + extra_bits)

    def leading(self, word: int, purpose: bytes, index: int, num_bits: int) -> int:
        """The first ``num_bits`` binary digits of that uniform, as an integer."""
        name = self.key + len(purpose).to_bytes(1, "big") + purpose + index.to_bytes(8, "big")
        extra_bits = num_bits - 64
        tail = int.from_bytes(hashlib.shake_256(name).digest(extra_bits // 8), "big")
        return (word << extra_bits) | tail
