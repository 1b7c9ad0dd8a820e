"""Masks: AES-256 in counter mode, added to or subtracted from a vector as they are generated.

A key is expanded with an all-zero initial counter (NIST SP 800-38A), which is safe only because every key
masks one vector in its whole life; `discreet.secagg.binding` derives keys so that this holds. Element i of a
mask is the little-endian word at byte ``i * itemsize``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

import numpy as np

from discreet.secagg.hazmat.keystream import HEAD_BYTES, open_keystream
from discreet.secagg.ring import RingVector
from discreet.secagg.side_by_side import side_by_side

# Large enough that a call costs nothing, small enough that keystream and operand stay in a core's cache.
_PIECE_BYTES = 1 << 18
# Between calls a thread holds the interpreter's lock. Who waits for it sleeps, so threads make longer calls.
_SHARED_PIECE_BYTES = 1 << 20
# Bounds the memory of open keystreams.
_KEYS_AT_ONCE = 64
_ZEROS = memoryview(bytes(_SHARED_PIECE_BYTES))


class _Mask(NamedTuple):
    """A key, and whether its mask is added or subtracted."""

    key: bytes
    apply: np.ufunc


@dataclass(frozen=True, slots=True)
class _OwnSum:
    """Where a thread adds up its masks of one piece, before it is its turn to change the vector."""

    words: RingVector
    turn: Lock

    def zeros(self, length: int) -> RingVector:
        """Returns the first words, set to zero."""
        part = self.words[:length]
        part.fill(0)
        return part

    def add_to(self, piece: RingVector) -> None:
        """Adds the sum to a piece of the vector, one thread at a time."""
        with self.turn:
            piece += self.words[: len(piece)]


def add_masks(vector: RingVector, plus: Sequence[bytes], minus: Sequence[bytes], *, threads: int = 1) -> None:
    """Adds the masks of the keys ``plus`` to ``vector`` and subtracts those of ``minus``, in place.

    Args:
        vector: little-endian unsigned words, shape ``(d,)``; wraps around at its word size.
        plus: 32-byte keys, each used for nothing else.
        minus: likewise.
        threads: number of masks that are made at once; each takes 2 MiB.
    """
    masks = [_Mask(key, np.add) for key in plus] + [_Mask(key, np.subtract) for key in minus]
    threads = min(threads, len(masks))
    if threads <= 1 or vector.nbytes <= _PIECE_BYTES:
        _apply(vector, masks)
        return
    turn = Lock()
    side_by_side(lambda first: _apply(vector, masks[first::threads], turn), threads)


def _apply(vector: RingVector, masks: Sequence[_Mask], turn: Lock | None = None) -> None:
    """Applies masks one batch after the other; with a ``turn`` other threads apply theirs to the vector."""
    piece_bytes = _PIECE_BYTES if turn is None else _SHARED_PIECE_BYTES
    num_words = max(min(piece_bytes, vector.nbytes), HEAD_BYTES) // vector.itemsize
    # Once for all batches: fresh memory of this size comes in pages that the kernel has to clear.
    scratch = np.empty(num_words, dtype=vector.dtype)
    own = None if turn is None else _OwnSum(np.empty_like(scratch), turn)
    for first in range(0, len(masks), _KEYS_AT_ONCE):
        _apply_batch(vector, masks[first : first + _KEYS_AT_ONCE], scratch, own)


def _apply_batch(
    vector: RingVector, masks: Sequence[_Mask], scratch: RingVector, own: _OwnSum | None
) -> None:
    """Runs several keystreams side by side, so that every piece of the vector is visited while in cache."""
    opened = [(*open_keystream(mask.key, vector.nbytes), mask.apply) for mask in masks]
    raw, made = scratch.data.cast("B"), HEAD_BYTES
    for start in range(0, len(vector), len(scratch)):
        piece = vector[start : start + len(scratch)]
        target = piece if own is None else own.zeros(len(piece))
        keystream = scratch[: len(piece)]
        out = raw[made : piece.nbytes]
        zeros = _ZEROS[: len(out)]
        for head, stream, apply in opened:
            if made:
                raw[:made] = head
            stream.update_into(zeros, out)
            apply(target, keystream, target)
        made = 0
        if own is not None:
            own.add_to(piece)
