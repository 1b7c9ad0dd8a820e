"""Features made by somebody else's code, record by record: whatever a record does to it stays its own."""

from __future__ import annotations

import signal
from collections.abc import Callable

import numpy as np

from discreet.arrays import Float32s


def features_of(record: Float32s, give: Callable[[Float32s], object], length: int) -> Float32s | None:
    """Returns what ``give`` makes of a record, shape ``(length,)``; None if it raises or gives another thing.

    Panics of compiled code are no ``Exception``, and count as well; the user's own Ctrl-C does not. In a
    process where Ctrl-C raises nothing, as in a serving silo, a `KeyboardInterrupt` is the record's.
    """
    try:
        found = as_vector(give(record))
    except BaseException as error:
        ctrl_c_raises = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if isinstance(error, KeyboardInterrupt) and ctrl_c_raises:
            raise
        return None
    return found if len(found) == length else None


def as_vector(returned: object) -> Float32s:
    """Returns a vector of real numbers as float32; numbers that are too large become infinite, silently.

    Raises:
        TypeError: for other things than real numbers.
        ValueError: for another shape than a vector's, or no number at all.
    """
    given = np.asarray(returned)
    if given.dtype.kind not in "fiub":
        raise TypeError(f"it returned {given.dtype}, no real numbers")
    if given.ndim != 1 or not given.size:
        raise ValueError(f"it returned the shape {given.shape}, no vector")
    with np.errstate(all="ignore"):  # one record's overflow must not become a message
        return given.astype(np.float32)
