"""Check 18: masks are AES-256-CTR, uniform over the whole ring, and depend on every bit of their key."""

from __future__ import annotations

from threading import Lock
from typing import Any, Self

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from discreet.secagg.hazmat import keystream, prg
from discreet.secagg.hazmat.keystream import _SHORT_BYTES, HEAD_BYTES
from discreet.secagg.hazmat.prg import _PIECE_BYTES, _SHARED_PIECE_BYTES, add_masks

# NIST SP 800-38A, F.5.5 (CTR-AES256): the key and, from the initial counter block on, the keystream. The mask
# generator starts at counter zero, so the vector is reached through AESAVS (FIPS-197 appendix C.3) instead.
FIPS_KEY = bytes(range(32))
FIPS_BLOCK_INPUT = int.from_bytes(bytes.fromhex("00112233445566778899aabbccddeeff"), "big")
FIPS_BLOCK_OUTPUT = bytes.fromhex("8ea2b7ca516745bfeafc49904b496089")


def mask(key: bytes, length: int, dtype: str = "<u4") -> np.ndarray:
    out = np.zeros(length, dtype=dtype)
    add_masks(out, [key], [])
    return out


def test_block_zero_is_the_encryption_of_the_zero_block() -> None:
    """AESAVS GFSbox/VarKey style vector: AES-256, key zero, block zero (NIST AESAVS appendix)."""
    assert mask(bytes(32), 4).tobytes() == bytes.fromhex("dc95c078a2408989ad48a21492842087")


def test_counter_is_big_endian_over_the_whole_block() -> None:
    """FIPS-197 C.3 gives AES-256 of one block; as counter value it pins key schedule and byte order."""
    stream = Cipher(algorithms.AES256(FIPS_KEY), modes.CTR(FIPS_BLOCK_INPUT.to_bytes(16, "big"))).encryptor()
    assert stream.update(bytes(16)) == FIPS_BLOCK_OUTPUT
    second = Cipher(algorithms.AES256(FIPS_KEY), modes.CTR((1).to_bytes(16, "big"))).encryptor()
    assert mask(FIPS_KEY, 8).tobytes()[16:] == second.update(bytes(16))


@pytest.mark.parametrize("gcm", [False, True])
@pytest.mark.parametrize("dtype", ["<u2", "<u4", "<u8"])
def test_a_mask_of_any_length_is_counter_mode_from_zero(
    dtype: str, gcm: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Byte for byte, around every length at which the mask is made in another way, by either cipher."""
    monkeypatch.setattr(keystream, "gcm_is_faster", lambda: gcm)
    word = np.dtype(dtype).itemsize
    for edge in (HEAD_BYTES, _SHORT_BYTES, _PIECE_BYTES, 2 * _PIECE_BYTES):
        for length in (edge // word - 1, edge // word, edge // word + 1):
            counter = Cipher(algorithms.AES256(FIPS_KEY), modes.CTR(bytes(16))).encryptor()
            assert mask(FIPS_KEY, length, dtype).tobytes() == counter.update(bytes(length * word)), length


@pytest.mark.parametrize("dtype", ["<u2", "<u4", "<u8"])
@pytest.mark.parametrize(("threads", "gcm"), [(1, False), (2, False), (3, False), (2, True)])
def test_threads_and_pieces_do_not_change_a_bit(
    dtype: str, threads: int, gcm: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keystream, "gcm_is_faster", lambda: gcm)
    length = 2 * _SHARED_PIECE_BYTES // np.dtype(dtype).itemsize + 1
    keys = [bytes([index]) * 32 for index in range(5)]
    one, many = np.arange(length).astype(dtype), np.arange(length).astype(dtype)
    add_masks(one, keys[:3], keys[3:], threads=1)
    add_masks(many, keys[:3], keys[3:], threads=threads)
    assert np.array_equal(one, many)
    expected = np.arange(length).astype(dtype)
    for key in keys[:3]:
        expected += mask(key, length, dtype)
    for key in keys[3:]:
        expected -= mask(key, length, dtype)
    assert np.array_equal(one, expected)


def test_one_thread_at_a_time_adds_to_the_vector(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that add to one piece at once would lose a part; that is too rare for a comparison of sums."""
    turn, held = Lock(), []

    class Watched(np.ndarray):
        def __iadd__(self, other: Any) -> Self:  # type: ignore[misc]
            held.append(turn.locked())
            super().__iadd__(other)
            return self

    monkeypatch.setattr(prg, "Lock", lambda: turn)
    vector = np.zeros(_SHARED_PIECE_BYTES // 4 + 1, dtype="<u4").view(Watched)
    add_masks(vector, [bytes([index]) * 32 for index in range(4)], [], threads=2)
    assert held == [True] * 4


def test_more_keys_than_one_batch() -> None:
    keys = [index.to_bytes(32, "big") for index in range(130)]
    vector = np.zeros(10, dtype="<u4")
    add_masks(vector, keys, [])
    add_masks(vector, [], keys[::-1])
    assert not vector.any()


@pytest.mark.parametrize(("counter", "gcm", "faster"), [(3e-5, 1e-5, True), (1e-5, 3e-5, False)])
def test_masks_come_from_the_faster_cipher(
    counter: float, gcm: float, faster: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the best try of each: here the first one of either takes a second longer."""
    clock = [0.0]
    slow = [1.0, 1.0]

    class Timed:
        def __init__(self, mode: modes.Mode) -> None:
            self.seconds = gcm if isinstance(mode, modes.GCM) else counter

        def encryptor(self) -> Self:
            return self

        def update_into(self, *_: object) -> None:
            clock[0] += self.seconds + (slow.pop() if slow else 0.0)

    monkeypatch.setattr(keystream, "Cipher", lambda _, mode: Timed(mode))
    monkeypatch.setattr(keystream, "perf_counter", lambda: clock[0])
    assert keystream.gcm_is_faster.__wrapped__() is faster


@pytest.mark.statistical
def test_every_value_of_a_ring_is_equally_likely() -> None:
    """Chi-square over all of [0, 2^8) and [0, 2^16); false-alarm rate 1e-6 each.

    The full range matters: another framework's mask generator never produced the largest value.
    """
    words = mask(b"k" * 32, 1 << 22, "<u2")
    for bits, limit in ((8, 377.0), (16, 67_270.0)):
        counts = np.bincount(words & ((1 << bits) - 1), minlength=1 << bits)
        expected = len(words) / (1 << bits)
        assert float(((counts - expected) ** 2 / expected).sum()) < limit
        assert counts.min() > 0


@pytest.mark.statistical
def test_every_bit_of_the_key_counts() -> None:
    """Flipping any of the 256 bits flips 2048 of 4096 mask bits, within six standard deviations (32 each).

    False-alarm rate 256 * 2e-9 = 5e-7.
    """
    key = int.from_bytes(bytes(range(32)), "big")
    base = mask(key.to_bytes(32, "big"), 128)
    for bit in range(256):
        other = mask((key ^ 1 << bit).to_bytes(32, "big"), 128)
        assert abs(int(np.bitwise_count(base ^ other).sum()) - 2048) < 6 * 32
