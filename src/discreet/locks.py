"""Locks on files that every end of a process releases; asking whether one is held takes it for a moment."""

from __future__ import annotations

import fcntl
import time
from typing import IO, Final

# Somebody who only asks whether a lock is held takes it for a moment.
_TRIES: Final = 20
_TRY_SECONDS: Final = 0.05


def take(file: IO[bytes], *, shared: bool = False) -> bool:
    """Takes the lock of an open file until it is closed; returns whether it could, at once."""
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def take_soon(file: IO[bytes], *, shared: bool = False) -> bool:
    """Like `take`, and waits for up to a second, longer than anybody asks."""
    for _ in range(_TRIES - 1):
        if take(file, shared=shared):
            return True
        time.sleep(_TRY_SECONDS)
    return take(file, shared=shared)
