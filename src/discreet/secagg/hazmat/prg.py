"""Masks: AES-256 in counter mode, added to or subtracted from a vector as they are generated.

A key is expanded with an all-zero initial counter (NIST SP 800-38A), which is safe only because every key
masks one vector in its whole life; `discreet.secagg.binding` derives keys so that this holds. Element i of a
mask is the little-endian word at byte ``i * itemsize``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes

from discreet.secagg.ring import RingVector

# Large enough that a call costs nothing, small enough that keystream and operand stay in a core's cache.
_CHUNK_BYTES = 1 << 17
# Bounds the memory of open keystreams.
_KEYS_AT_ONCE = 64
_ZEROS = bytes(_CHUNK_BYTES)
_FIRST_BLOCK = bytes(16)


def add_masks(vector: RingVector, plus: Sequence[bytes], minus: Sequence[bytes]) -> None:
    """Adds the masks of the keys ``plus`` to ``vector`` and subtracts those of ``minus``, in place.

    Args:
        vector: little-endian unsigned words, shape ``(d,)``; wraps around at its word size.
        plus: 32-byte keys, each used for nothing else.
        minus: likewise.
    """
    for apply, keys in ((np.add, plus), (np.subtract, minus)):
        for first in range(0, len(keys), _KEYS_AT_ONCE):
            batch = keys[first : first + _KEYS_AT_ONCE]
            streams = [Cipher(algorithms.AES256(key), modes.CTR(_FIRST_BLOCK)).encryptor() for key in batch]
            _apply_streams(vector, streams, apply)


def _apply_streams(vector: RingVector, streams: Sequence[CipherContext], apply: np.ufunc) -> None:
    """Runs several keystreams side by side, so that every chunk of the vector is visited while in cache."""
    per_chunk = _CHUNK_BYTES // vector.itemsize
    scratch = np.empty(min(per_chunk, len(vector)), dtype=vector.dtype)
    for start in range(0, len(vector), per_chunk):
        target = vector[start : start + per_chunk]
        keystream = scratch[: len(target)]
        zeros, out = memoryview(_ZEROS)[: target.nbytes], keystream.data.cast("B")
        for stream in streams:
            stream.update_into(zeros, out)
            apply(target, keystream, out=target)
