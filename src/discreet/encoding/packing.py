"""Integers of b bits without gaps: value i occupies bits i·b … (i+1)·b − 1, least significant first."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from discreet.encoding.ring import check_bits
from discreet.errors import ConfigurationError

Words = npt.NDArray[np.uint64]

# Rows of one chunk: its words stay in a core's cache.
_ROWS = 1 << 9


def packed_bytes(bits: int, length: int) -> int:
    """Bytes that ``length`` values of ``bits`` bits take."""
    check_bits(bits)
    return -(-bits * length // 8)


def pack(values: Words, bits: int) -> bytes:
    """Packs values below 2^``bits`` into ``packed_bytes(bits, len(values))`` bytes; the last bits are zero.

    Raises:
        ConfigurationError: wrong dtype or shape, a width outside 8 to 62, or a value that does not fit.

    Example:
        >>> pack(np.array([1, 2, 3], dtype=np.uint64), 12).hex()
        '0120000300'
    """
    check_bits(bits)
    if values.dtype != np.uint64 or values.ndim != 1:
        raise ConfigurationError(
            f"values must be a uint64 vector; got {values.dtype} of shape {values.shape}."
        )
    if len(values) and int(values.max()) >> bits:
        raise ConfigurationError(f"every value must be below 2^{bits}; reduce modulo the ring first.")
    group, width = _period(bits)
    num_rows = -(-len(values) // group)
    out = np.zeros((num_rows, width), dtype="<u8")
    for start in range(0, num_rows, _ROWS):
        stop = min(start + _ROWS, num_rows)
        part = values[start * group : stop * group]
        rows = np.zeros((stop - start) * group, dtype=np.uint64)
        rows[: len(part)] = part
        _pack_columns(rows.reshape(-1, group), out[start:stop], bits)
    return out.tobytes()[: packed_bytes(bits, len(values))]


def unpack(data: bytes | memoryview, bits: int, length: int) -> Words:
    """Unpacks ``length`` values; the inverse of `pack`.

    Raises:
        ConfigurationError: a wrong number of bytes, or padding bits that are not zero.
    """
    check_bits(bits)
    if not length >= 0:
        raise ConfigurationError(f"length must be >= 0; got {length}.")
    if len(data) != packed_bytes(bits, length):
        raise ConfigurationError(
            f"{length} values of {bits} bits take {packed_bytes(bits, length)} bytes; got {len(data)}."
        )
    spare = 8 * len(data) - bits * length
    if spare and data[-1] >> (8 - spare):
        raise ConfigurationError("the padding bits after the last value must be zero.")
    group, width = _period(bits)
    num_rows = -(-length // group)
    words = np.zeros(num_rows * width, dtype="<u8")
    words.view(np.uint8)[: len(data)] = np.frombuffer(data, dtype=np.uint8)
    out = np.empty((num_rows, group), dtype=np.uint64)
    packed = words.reshape(num_rows, width)
    for start in range(0, num_rows, _ROWS):
        _unpack_columns(packed[start : start + _ROWS], out[start : start + _ROWS], bits)
    return out.reshape(-1)[:length]


def _period(bits: int) -> tuple[int, int]:
    """The layout repeats after this many values and this many 64-bit words."""
    common = math.gcd(bits, 64)
    return 64 // common, bits // common


def _pack_columns(rows: Words, out: Words, bits: int) -> None:
    """Ors column j of ``rows``, shape (n, group), into the words of ``out``, shape (n, width)."""
    for j in range(rows.shape[1]):
        word, shift = divmod(j * bits, 64)
        out[:, word] |= rows[:, j] << np.uint64(shift)
        if shift + bits > 64:
            out[:, word + 1] |= rows[:, j] >> np.uint64(64 - shift)


def _unpack_columns(packed: Words, out: Words, bits: int) -> None:
    """Reads column j of ``out`` from the one or two words of ``packed`` that hold it."""
    mask = np.uint64((1 << bits) - 1)
    for j in range(out.shape[1]):
        word, shift = divmod(j * bits, 64)
        column = packed[:, word] >> np.uint64(shift)
        if shift + bits > 64:
            column |= packed[:, word + 1] << np.uint64(64 - shift)
        np.bitwise_and(column, mask, out=out[:, j])
