"""Masks: AES-256 in counter mode, added to or subtracted from a vector as they are generated.

A key is expanded with an all-zero initial counter (NIST SP 800-38A), which is safe only because every key
masks one vector in its whole life; `discreet.secagg.binding` derives keys so that this holds. Element i of a
mask is the little-endian word at byte ``i * itemsize``, so any range can be made alone by starting the
counter there: that is how threads share one mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes

from discreet.secagg.ring import RingVector

_BLOCK_BYTES = 16
# Large enough that a call costs nothing, small enough that keystream and operand stay in a core's cache.
_CHUNK_BYTES = 1 << 17
# Bounds the memory of open keystreams.
_KEYS_AT_ONCE = 64
_ZEROS = bytes(_CHUNK_BYTES)


def add_masks(vector: RingVector, plus: Sequence[bytes], minus: Sequence[bytes], *, threads: int = 1) -> None:
    """Adds the masks of the keys ``plus`` to ``vector`` and subtracts those of ``minus``, in place.

    Args:
        vector: little-endian unsigned words, shape ``(d,)``; wraps around at its word size.
        plus: 32-byte keys, each used for nothing else.
        minus: likewise.
        threads: number of ranges of the vector that are worked on at once.
    """
    if threads <= 1 or vector.nbytes <= _CHUNK_BYTES:
        _add_range(vector, 0, plus, minus)
        return
    step = -(-vector.nbytes // (threads * _BLOCK_BYTES)) * _BLOCK_BYTES // vector.itemsize
    with ThreadPoolExecutor(threads) as pool:
        ranges = [
            pool.submit(_add_range, vector[start : start + step], start * vector.itemsize, plus, minus)
            for start in range(0, len(vector), step)
        ]
        for done in ranges:
            done.result()


def _add_range(part: RingVector, offset_bytes: int, plus: Sequence[bytes], minus: Sequence[bytes]) -> None:
    """Applies all masks to one range, which starts at a whole cipher block."""
    counter = (offset_bytes // _BLOCK_BYTES).to_bytes(_BLOCK_BYTES, "big")
    for apply, keys in ((np.add, plus), (np.subtract, minus)):
        for first in range(0, len(keys), _KEYS_AT_ONCE):
            batch = keys[first : first + _KEYS_AT_ONCE]
            streams = [Cipher(algorithms.AES256(key), modes.CTR(counter)).encryptor() for key in batch]
            _apply_streams(part, streams, apply)


def _apply_streams(part: RingVector, streams: Sequence[CipherContext], apply: np.ufunc) -> None:
    """Runs several keystreams side by side, so that every chunk of the vector is visited while in cache."""
    per_chunk = _CHUNK_BYTES // part.itemsize
    scratch = np.empty(min(per_chunk, len(part)), dtype=part.dtype)
    for start in range(0, len(part), per_chunk):
        target = part[start : start + per_chunk]
        keystream = scratch[: len(target)]
        zeros, out = memoryview(_ZEROS)[: target.nbytes], keystream.data.cast("B")
        for stream in streams:
            stream.update_into(zeros, out)
            apply(target, keystream, out=target)
