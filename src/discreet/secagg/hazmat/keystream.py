"""Keystream: AES-256 in counter mode from block 0 on, by whichever cipher of OpenSSL makes it faster.

GCM's cipher is counter mode from block 2 on where the nonce is zero (NIST SP 800-38D, sections 6.5 and 7.1).
OpenSSL's GCM fills wide registers where the processor has those that it asks for, and its counter mode never
does; elsewhere authentication, which is thrown away here, makes GCM the slower one.
"""

from __future__ import annotations

from functools import cache
from time import perf_counter

from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes

HEAD_BYTES = 2 * 16
"""Bytes of blocks 0 and 1, which GCM keeps for its tag."""
# Up to here opening a second cipher takes longer than it saves.
_SHORT_BYTES = 1 << 15
_FROM_ZERO = modes.CTR(bytes(16))
_FROM_TWO = modes.GCM(bytes(12))
_TRIED_BYTES = 1 << 16
_TRIES = 5


def open_keystream(key: bytes, num_bytes: int) -> tuple[bytes, CipherContext]:
    """Returns the first `HEAD_BYTES` of a keystream, and a cipher that makes the rest of it from zeros."""
    cipher = algorithms.AES256(key)
    counter = Cipher(cipher, _FROM_ZERO).encryptor()
    head = counter.update(bytes(HEAD_BYTES))
    by_counter = num_bytes <= _SHORT_BYTES or not gcm_is_faster()
    return head, counter if by_counter else Cipher(cipher, _FROM_TWO).encryptor()


@cache
def gcm_is_faster() -> bool:
    """Tries both ciphers on this machine, once in a process and for less than a millisecond."""
    zeros, out = bytes(_TRIED_BYTES), bytearray(_TRIED_BYTES)
    key = algorithms.AES256(bytes(32))
    counter, gcm = Cipher(key, _FROM_ZERO).encryptor(), Cipher(key, _FROM_TWO).encryptor()

    def seconds(cipher: CipherContext) -> float:
        start = perf_counter()
        cipher.update_into(zeros, out)
        return perf_counter() - start

    # In turns, and the best of each: a neighbour that takes the processor away disturbs single tries.
    tries = [(seconds(gcm), seconds(counter)) for _ in range(_TRIES)]
    return min(gcm for gcm, _ in tries) < min(counter for _, counter in tries)
