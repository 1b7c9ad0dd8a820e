"""A packed vector with a header that says what it is, laid out as safetensors does.

Eight bytes: length of the header, little-endian. Then the header: JSON, ASCII, padded with spaces to a
multiple of eight. Then the payload of `pack`. The header must be the one that the plan implies, and sizes are
checked before anything is allocated.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.encoding.packing import pack, packed_bytes, unpack
from discreet.errors import ConfigurationError

FORMAT = "discreet/ring/1"

_PREFIX_BYTES = 8
_MAX_HEADER_BYTES = 4096


@dataclass(frozen=True, slots=True)
class RingVector:
    """Values below 2^``bits``, shape ``(length,)``."""

    values: npt.NDArray[np.uint64]
    bits: int


def frame(vector: RingVector) -> bytes:
    """Serialises a ring vector; the same vector always gives the same bytes.

    Example:
        >>> len(frame(RingVector(np.zeros(100, dtype=np.uint64), bits=20))) == frame_bytes(20, 100)
        True
    """
    header = _header(vector.bits, len(vector.values))
    return len(header).to_bytes(_PREFIX_BYTES, "little") + header + pack(vector.values, vector.bits)


def unframe(data: bytes, *, bits: int, length: int) -> RingVector:
    """Parses what `frame` wrote for a vector of the planned width and length.

    Raises:
        ConfigurationError: a header other than the one that the plan implies, or a wrong number of bytes.
    """
    size = int.from_bytes(data[:_PREFIX_BYTES], "little")
    if not 0 < size <= _MAX_HEADER_BYTES or len(data) < _PREFIX_BYTES + size:
        raise ConfigurationError(
            f"a ring vector must start with a header of 1 to 4096 bytes; it says {size}."
        )
    expected = _header(bits, length)
    if data[_PREFIX_BYTES : _PREFIX_BYTES + size] != expected:
        raise ConfigurationError(f"the header of a ring vector must be {expected.decode().strip()}.")
    return RingVector(unpack(memoryview(data)[_PREFIX_BYTES + size :], bits, length), bits)


def frame_bytes(bits: int, length: int) -> int:
    """Bytes on the wire of one framed vector."""
    return _PREFIX_BYTES + len(_header(bits, length)) + packed_bytes(bits, length)


def _header(bits: int, length: int) -> bytes:
    fields = {"format": FORMAT, "bits": bits, "length": length}
    text = json.dumps(fields, separators=(",", ":"), sort_keys=True).encode("ascii")
    return text + b" " * (-len(text) % 8)
