"""Messages between the local engine and its worker processes: arrays and short texts, never pickles."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

_LENGTH_BYTES = 8


@dataclass(frozen=True, slots=True, repr=False)
class Frame:
    """One message: private, because it holds records or contributions."""

    texts: Mapping[str, str] = field(default_factory=dict)
    arrays: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)


def write_frame(stream: BinaryIO, frame: Frame) -> None:
    """Writes one message: a head with texts and shapes, then each array's numbers straight from its memory.

    Raises:
        BrokenPipeError: if the other side is gone.
    """
    shapes = {name: (array.dtype.str, array.shape) for name, array in frame.arrays.items()}
    head = json.dumps([dict(frame.texts), shapes]).encode()
    stream.write(len(head).to_bytes(_LENGTH_BYTES, "big"))
    stream.write(head)
    for array in frame.arrays.values():
        stream.write(_bytes_of(np.ascontiguousarray(array)))
    stream.flush()


def read_frame(stream: BinaryIO) -> Frame | None:
    """Returns the next message, or None if the other side is gone."""
    prefix = stream.read(_LENGTH_BYTES)
    length = int.from_bytes(prefix, "big")
    head = stream.read(length)
    if not (len(prefix) == _LENGTH_BYTES and len(head) == length):
        return None
    texts, shapes = json.loads(head)
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, (dtype, shape) in shapes.items():
        arrays[name] = np.empty(shape, np.dtype(dtype))
        if not _filled(stream, _bytes_of(arrays[name])):
            return None
    return Frame(texts, arrays)


def _bytes_of(array: npt.NDArray[Any]) -> memoryview:
    """A flat view of a contiguous array's memory."""
    return array.reshape(-1).view(np.uint8).data


def _filled(stream: BinaryIO, left: memoryview) -> bool:
    """Reads until nothing is ``left`` to fill; False if the other side is gone before."""
    while len(left) > 0:
        count = stream.readinto(left)  # type: ignore[attr-defined]  # every binary stream of ours has it
        if not count:
            return False
        left = left[count:]
    return True
