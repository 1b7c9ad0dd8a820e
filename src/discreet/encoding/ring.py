"""Integers modulo 2^b: into the ring, back to centred integers, and how large b must be."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.arrays import Integers
from discreet.errors import ConfigurationError
from discreet.secagg.ring import MAX_BITS, MIN_BITS


@dataclass(frozen=True, slots=True)
class SignalBound:
    """Public bounds on the sum of all silos' rounded vectors, before noise.

    Attributes:
        magnitude: bound on every coordinate of the sum, grid units.
        failure_prob: probability, per coordinate and round, that the bound fails (0 for a worst-case bound).
    """

    magnitude: float
    failure_prob: float


def check_bits(bits: int) -> None:
    """Refuses a width that the wire format does not carry."""
    if not MIN_BITS <= bits <= MAX_BITS:
        raise ConfigurationError(f"bits must be from {MIN_BITS} to {MAX_BITS}; got {bits}.")


def bits_for(magnitude: float) -> int:
    """Smallest b ≥ 8 such that every integer of at most ``magnitude`` is in [−2^(b−1), 2^(b−1)).

    Example:
        >>> bits_for(127.9), bits_for(128.0)
        (8, 9)
    """
    if not (magnitude >= 0 and math.isfinite(magnitude)):
        raise ConfigurationError(f"magnitude must be finite and >= 0, in grid units; got {magnitude}.")
    return max(MIN_BITS, int(magnitude).bit_length() + 1)


def to_ring(values: Integers, bits: int) -> npt.NDArray[np.uint64]:
    """Reduces signed integers modulo 2^``bits``; shape kept."""
    check_bits(bits)
    return values.view(np.uint64) & np.uint64((1 << bits) - 1)


def from_ring(values: npt.NDArray[np.uint64], bits: int) -> Integers:
    """Returns the representatives in [−2^(b−1), 2^(b−1)); higher bits of ``values`` are ignored.

    Example:
        >>> from_ring(to_ring(np.array([-5, 7]), 8), 8)
        array([-5,  7])
    """
    check_bits(bits)
    shift = 64 - bits
    return (values << np.uint64(shift)).view(np.int64) >> np.int64(shift)
