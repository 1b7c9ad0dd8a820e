"""How an error in a worker process reaches the engine: as a class and a text, never as a pickle."""

from __future__ import annotations

from discreet import errors
from discreet.engines.local.frames import Frame
from discreet.errors import DiscreetError, ProtocolAbort


class WorkerFailed(DiscreetError):
    """A worker process ended, or met an error that is none of ours."""


def failure_frame(error: Exception) -> Frame:
    """Returns the answer of a worker that could not do what it was asked."""
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
