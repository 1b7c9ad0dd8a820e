"""Messages between the local engine and its worker processes: arrays and short texts, never pickles."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy.typing as npt
from safetensors.numpy import load, save

_LENGTH_BYTES = 8


@dataclass(frozen=True, slots=True, repr=False)
class Frame:
    """One message: private, because it holds records or contributions."""

    texts: Mapping[str, str] = field(default_factory=dict)
    arrays: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)


def write_frame(stream: BinaryIO, frame: Frame) -> None:
    """Writes one message.

    Raises:
        BrokenPipeError: if the other side is gone.
    """
    for part in (json.dumps(frame.texts).encode(), save(dict(frame.arrays))):
        stream.write(len(part).to_bytes(_LENGTH_BYTES, "big"))
        stream.write(part)
    stream.flush()


def read_frame(stream: BinaryIO) -> Frame | None:
    """Returns the next message, or None if the other side is gone."""
    texts, arrays = _read_part(stream), _read_part(stream)
    return None if texts is None or arrays is None else Frame(json.loads(texts), load(arrays))


def _read_part(stream: BinaryIO) -> bytes | None:
    prefix = stream.read(_LENGTH_BYTES)
    length = int.from_bytes(prefix, "big")
    part = stream.read(length)
    return part if len(prefix) == _LENGTH_BYTES and len(part) == length else None
