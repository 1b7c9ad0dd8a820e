"""Vectors of integers modulo 2^b: from signed inputs to machine words, and back to totals."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import LocalProtocolError
from discreet.secagg.codes import AbortCode
from discreet.secagg.side_by_side import in_parts

RingVector = npt.NDArray[np.unsignedinteger[Any]]
InputVector = npt.NDArray[np.int64] | npt.NDArray[np.uint64]

MIN_BITS = 8
MAX_BITS = 62


def word_type(bits: int) -> np.dtype[np.unsignedinteger[Any]]:
    """Returns the smallest little-endian word that holds the ring; its own wrap-around is then harmless."""
    if bits <= 16:
        return np.dtype("<u2")
    return np.dtype("<u4") if bits <= 32 else np.dtype("<u8")


def to_ring(values: InputVector, bits: int, length: int, *, threads: int = 1) -> RingVector:
    """Takes a client's input into the ring, as a fresh array of machine words.

    Args:
        values: int64 in ``[-2^(bits-1), 2^(bits-1))`` or uint64 in ``[0, 2^bits)``, shape ``(length,)``.
        bits: the ring is ``2^bits``.
        length: the agreed vector length.
        threads: how many parts are checked and copied at once.

    Raises:
        LocalProtocolError: for another type, shape or range; nothing was masked or sent.

    Example:
        >>> to_ring(np.array([-1, 5]), bits=16, length=2)
        array([65535,     5], dtype=uint16)
    """
    if values.dtype not in (np.int64, np.uint64):
        raise LocalProtocolError(
            AbortCode.BAD_VECTOR, f"inputs must be int64 or uint64 arrays; got {values.dtype}."
        )
    if values.shape != (length,):
        raise LocalProtocolError(
            AbortCode.BAD_VECTOR,
            f"inputs must have shape ({length},), the agreed length; got {values.shape}.",
        )
    low, high = (-(1 << (bits - 1)), 1 << (bits - 1)) if values.dtype == np.int64 else (0, 1 << bits)
    words: RingVector = np.empty(length, dtype=word_type(bits))

    def take(part: slice) -> None:
        if not (int(values[part].min()) >= low and int(values[part].max()) < high):
            raise LocalProtocolError(
                AbortCode.BAD_VECTOR,
                f"{values.dtype} inputs must lie in [{low}, {high}) for bits={bits}; a value does not. "
                "Raise bits or scale the input down.",
            )
        words[part] = values[part]

    in_parts(take, values, threads)
    return reduce_words(words, bits)


def reduce_words(words: RingVector, bits: int) -> RingVector:
    """Reduces machine words modulo 2^bits in place and returns them."""
    if bits < 8 * words.itemsize:
        words &= words.dtype.type((1 << bits) - 1)
    return words


def to_total(words: RingVector, bits: int) -> npt.NDArray[np.uint64]:
    """Returns the sum in ``[0, 2^bits)`` as uint64."""
    return reduce_words(words, bits).astype(np.uint64)
