"""Packing: every width, every length, byte for byte."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.encoding import RingVector, frame, frame_bytes, pack, packed_bytes, unframe, unpack
from discreet.errors import ConfigurationError
from discreet.randomness import SeededRandom


def _values(length: int, bits: int, seed: int = 0) -> np.ndarray:
    return SeededRandom(seed).words(length) >> np.uint64(64 - bits)


@given(bits=st.integers(8, 62), length=st.integers(0, 300), seed=st.integers(0, 2**30))
def test_round_trip_and_layout(bits, length, seed):
    values = _values(length, bits, seed)
    data = pack(values, bits)
    assert len(data) == packed_bytes(bits, length)
    assert np.array_equal(unpack(data, bits, length), values)
    # The definition: value i occupies bits i·b … (i+1)·b − 1 of one little-endian integer.
    whole = sum(int(v) << (i * bits) for i, v in enumerate(values))
    assert int.from_bytes(data, "little") == whole


@pytest.mark.parametrize("bits", range(8, 63))
def test_lengths_across_chunk_boundaries(bits):
    values = _values(70_001, bits)
    assert np.array_equal(unpack(pack(values, bits), bits, len(values)), values)


def test_extreme_values():
    for bits in (8, 20, 33, 62):
        values = np.full(129, (1 << bits) - 1, dtype=np.uint64)
        assert np.array_equal(unpack(pack(values, bits), bits, 129), values)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pack(np.array([1 << 20], dtype=np.uint64), 20), "below 2\\^20"),
        (lambda: pack(np.array([1]), 20), "uint64 vector; got int64"),
        (lambda: pack(np.zeros((2, 2), dtype=np.uint64), 20), "shape \\(2, 2\\)"),
        (lambda: pack(np.zeros(2, dtype=np.uint64), 7), "from 8 to 62; got 7"),
        (lambda: pack(np.zeros(2, dtype=np.uint64), 63), "from 8 to 62; got 63"),
        (lambda: unpack(b"abc", 20, 2), "take 5 bytes; got 3"),
        (lambda: unpack(b"\0\0\0\0\xf0", 18, 2), "padding bits"),
        (lambda: unpack(b"", 20, -1), "length must be"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(ConfigurationError, match=words):
        call()


def test_frame_round_trip_and_size():
    vector = RingVector(_values(1001, 20), 20)
    data = frame(vector)
    assert len(data) == frame_bytes(20, 1001)
    assert len(data) - packed_bytes(20, 1001) < 100
    back = unframe(data, bits=20, length=1001)
    assert back.bits == 20
    assert np.array_equal(back.values, vector.values)


@pytest.mark.parametrize("cut", [0, 4, 8, 30, -1])
def test_truncated_frames_are_refused(cut):
    data = frame(RingVector(_values(50, 20), 20))
    with pytest.raises(ConfigurationError):
        unframe(data[:cut], bits=20, length=50)


@pytest.mark.parametrize(("bits", "length"), [(21, 50), (20, 49)])
def test_frames_of_another_plan_are_refused(bits, length):
    with pytest.raises(ConfigurationError, match="header"):
        unframe(frame(RingVector(_values(50, 20), 20)), bits=bits, length=length)


def test_huge_claimed_header_is_refused_before_it_is_read():
    with pytest.raises(ConfigurationError, match="4096"):
        unframe((1 << 60).to_bytes(8, "little") + b"{}", bits=20, length=1)
