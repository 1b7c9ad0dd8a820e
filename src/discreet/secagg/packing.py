"""Ring vectors on the wire: every value in exactly ``bits`` bits, little-endian, no gaps.

Value i occupies bits ``i * bits`` to ``(i + 1) * bits`` of the stream, bit 0 of a byte being its lowest. The
work goes through groups of 64 values, which fill exactly ``bits`` 64-bit words, in pieces that fit a cache.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.errors import PeerProtocolError
from discreet.secagg.codes import AbortCode
from discreet.secagg.ring import RingVector
from discreet.secagg.side_by_side import in_parts

_GROUP = 64
_PIECE = 1 << 14


def packed_size(length: int, bits: int) -> int:
    """Returns the number of bytes of a packed vector."""
    return -(-length * bits // 8)


def pack(words: RingVector, bits: int) -> bytes | memoryview:
    """Packs values that are already reduced modulo ``2^bits``; where they fill their words, without a copy.

    Example:
        >>> pack(np.array([1, 2, 3], dtype=np.uint16), bits=10).hex()
        '01083000'
    """
    if bits == 8 * words.itemsize:
        return words.view(np.uint8).data
    pieces = [_pack_piece(words[start : start + _PIECE], bits) for start in range(0, len(words), _PIECE)]
    return b"".join(pieces)[: packed_size(len(words), bits)]


def add_packed(total: RingVector, packed: bytes | memoryview, bits: int, *, threads: int = 1) -> None:
    """Adds a packed vector to ``total`` in place, without unpacking more than one piece at a time.

    Args:
        total: words as `discreet.secagg.ring.word_type` has them, shape ``(d,)``.
        packed: what `pack` returns.
        bits: of a value.
        threads: how many parts are added up at once, where values fill their words; others are unpacked by
            calls that are too short for that.

    Raises:
        PeerProtocolError: if the size is not that of ``len(total)`` values or the padding bits are not zero.
            ``total`` is then unchanged.
    """
    if len(packed) != packed_size(len(total), bits):
        raise PeerProtocolError(
            AbortCode.BAD_VECTOR,
            f"a masked vector must take {packed_size(len(total), bits)} bytes; got {len(packed)}.",
        )
    # Every vector has one encoding: spare bits would be a place for something else.
    spare = len(packed) * 8 - len(total) * bits
    if packed[-1] >> (8 - spare):
        raise PeerProtocolError(AbortCode.BAD_VECTOR, "padding bits of a masked vector must be zero.")
    if bits == 8 * total.itemsize:
        words = np.frombuffer(packed, dtype=total.dtype)
        in_parts(lambda part: _add_to(total[part], words[part]), total, threads)
        return
    for start in range(0, len(total), _PIECE):
        part = total[start : start + _PIECE]
        first = start * bits // 8
        raw = packed[first : first + packed_size(len(part), bits)]
        part += _unpack_piece(raw, len(part), bits).astype(total.dtype)


def _add_to(total: RingVector, words: RingVector) -> None:
    total += words


def _layout(index: int, bits: int) -> tuple[int, int]:
    """Returns the word and the bit at which a group's value ``index`` begins."""
    return divmod(index * bits, _GROUP)


def _pack_piece(words: RingVector, bits: int) -> bytes:
    """Packs one piece; the last group is padded with zeros."""
    groups = -(-len(words) // _GROUP)
    values = np.zeros(groups * _GROUP, dtype=np.uint64)
    values[: len(words)] = words
    columns = np.ascontiguousarray(values.reshape(groups, _GROUP).T)
    out = np.zeros((bits, groups), dtype=np.uint64)
    for index in range(_GROUP):
        word, bit = _layout(index, bits)
        out[word] |= columns[index] << np.uint64(bit)
        if bit + bits > _GROUP:
            out[word + 1] |= columns[index] >> np.uint64(_GROUP - bit)
    return np.ascontiguousarray(out.T).astype("<u8", copy=False).tobytes()


def _unpack_piece(raw: bytes | memoryview, length: int, bits: int) -> npt.NDArray[np.uint64]:
    """Inverse of `_pack_piece` for ``length`` values."""
    groups = -(-length // _GROUP)
    padded = np.zeros(groups * bits * 8, dtype=np.uint8)
    padded[: len(raw)] = np.frombuffer(raw, dtype=np.uint8)
    columns = np.ascontiguousarray(padded.view("<u8").reshape(groups, bits).T)
    out = np.empty((_GROUP, groups), dtype=np.uint64)
    for index in range(_GROUP):
        word, bit = _layout(index, bits)
        out[index] = columns[word] >> np.uint64(bit)
        if bit + bits > _GROUP:
            out[index] |= columns[word + 1] << np.uint64(_GROUP - bit)
    out &= np.uint64((1 << bits) - 1)
    return np.ascontiguousarray(out.T).reshape(-1)[:length]
