"""Messages between the local engine and its worker processes: arrays, texts, errors; never pickles."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from discreet import errors
from discreet.errors import DiscreetError, ProtocolAbort

_LENGTH_BYTES = 8


class WorkerFailed(DiscreetError):
    """A worker process ended, or met an error that is none of ours."""


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


def failure_frame(error: Exception) -> Frame:
    """Returns the answer of a worker that could not do what it was asked: the error's class and its text."""
    return Frame({"error": type(error).__name__, "message": str(error)})


def require_success(frame: Frame) -> Frame:
    """Re-raises a worker's error, in its own class if that is a `DiscreetError`.

    Raises:
        DiscreetError: as the worker raised it.
        WorkerFailed: for any other error.
    """
    if "error" not in frame.texts:
        return frame
    name, message = frame.texts["error"], frame.texts["message"]
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, DiscreetError) and not issubclass(kind, ProtocolAbort):
        raise kind(message)
    raise WorkerFailed(
        f"Training must not fail in a worker process; got {name}: {message}. "
        "Set speed.workers = 1 to see where it happens."
    )


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
