"""Packed vectors: every width, exact round trip, exact size, nothing else accepted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import LocalProtocolError, PeerProtocolError
from discreet.secagg.packing import add_packed, pack, packed_size
from discreet.secagg.ring import InputVector, reduce_words, to_ring, to_total, word_type


@given(st.integers(8, 62), st.integers(1, 200), st.integers(0, 2**32))
@settings(deadline=None)
def test_round_trip_at_every_width(bits: int, length: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, 1 << bits, length, dtype=np.uint64)
    words = values.astype(word_type(bits))
    packed = pack(words, bits)
    assert len(packed) == packed_size(length, bits) == -(-length * bits // 8)
    total = np.zeros_like(words)
    add_packed(total, packed, bits)
    assert np.array_equal(total, words)
    as_integer = sum(int(value) << (index * bits) for index, value in enumerate(values))
    assert int.from_bytes(packed, "little") == as_integer


def test_long_vectors_cross_pieces() -> None:
    words = np.arange(40_000, dtype=np.uint32) % (1 << 20)
    total = np.ones_like(words)
    add_packed(total, pack(words, 20), 20)
    assert np.array_equal(total, words + 1)


@pytest.mark.parametrize("bits", [16, 20, 32, 62])
@pytest.mark.parametrize("values", [-(1 << 15), (1 << 16) - 1], ids=["int64", "uint64"])
def test_threads_do_not_change_a_bit(bits: int, values: int) -> None:
    length = (3 << 20) // word_type(bits).itemsize + 5
    raw: InputVector = np.arange(length, dtype=np.int64) % 1000
    raw = raw if values < 0 else raw.astype(np.uint64)
    raw[-1] = values
    one, many = (to_ring(raw, bits, length, threads=threads) for threads in (1, 3))
    assert np.array_equal(one, raw.astype(np.uint64) & np.uint64((1 << bits) - 1))
    assert np.array_equal(one, many)
    total = np.arange(length, dtype=word_type(bits))
    expected = reduce_words(total + one, bits)
    add_packed(total, pack(one, bits), bits, threads=3)
    assert np.array_equal(reduce_words(total, bits), expected)


def test_a_value_outside_is_refused_on_whichever_thread_it_is() -> None:
    values = np.zeros(1 << 18, dtype=np.int64)
    for place in (0, len(values) - 1):
        bad = values.copy()
        bad[place] = 1 << 19
        with pytest.raises(LocalProtocolError, match="must lie in"):
            to_ring(bad, 20, len(bad), threads=2)


@pytest.mark.parametrize("bits", [20, 32])
def test_a_wrong_size_changes_nothing(bits: int) -> None:
    total = np.zeros(7, dtype=np.uint32)
    packed = bytes(pack(np.arange(7, dtype=np.uint32), bits))
    for bad in (packed[:-1], packed + b"\0", b""):
        with pytest.raises(PeerProtocolError, match="bytes") as caught:
            add_packed(total, bad, bits)
        assert caught.value.code == "bad-vector"
    assert not total.any()


def test_padding_must_be_zero_so_that_encodings_are_unique() -> None:
    packed = bytearray(pack(np.arange(3, dtype=np.uint32), 20))
    packed[-1] |= 0x80
    with pytest.raises(PeerProtocolError, match="padding"):
        add_packed(np.zeros(3, dtype=np.uint32), bytes(packed), 20)


@pytest.mark.parametrize("bits", [8, 16, 20, 32, 33, 62])
def test_signed_values_at_the_edge_of_the_centred_range(bits: int) -> None:
    """Check 14: the extremes go in and come out; one more is refused."""
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    total = to_total(to_ring(np.array([low, high, -1, 0]), bits, 4), bits)
    assert total.tolist() == [1 << (bits - 1), high, (1 << bits) - 1, 0]
    for outside in (low - 1, high + 1):
        with pytest.raises(LocalProtocolError, match="must lie in"):
            to_ring(np.array([outside]), bits, 1)
    with pytest.raises(LocalProtocolError, match="must lie in"):
        to_ring(np.array([1 << bits], dtype=np.uint64), bits, 1)


@pytest.mark.parametrize("values", [np.array([np.nan]), np.array([1.0]), np.array([1], dtype=np.int32)])
def test_other_types_are_refused(values: np.ndarray) -> None:
    with pytest.raises(LocalProtocolError, match="int64 or uint64"):
        to_ring(values, 20, 1)
