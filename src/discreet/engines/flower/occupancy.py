"""One server in one folder: a lock that every end of its process releases."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from discreet.errors import ConfigurationError

# Somebody who only asks holds the lock for a moment.
_TRIES: Final = 20
_TRY_SECONDS: Final = 0.05


@contextmanager
def occupy(lock: Path) -> Iterator[None]:
    """Holds ``lock`` for the block, as no other process can meanwhile.

    Raises:
        ConfigurationError: if another one does; nothing was changed.
    """
    try:
        file = lock.open("ab")
    except OSError as error:
        raise ConfigurationError(
            f"the server's folder must exist and be writable; {lock.parent}: {error.strerror}."
        ) from None
    with file:
        for attempt in range(_TRIES):
            if _take(file):
                break
            if attempt < _TRIES - 1:
                time.sleep(_TRY_SECONDS)
        else:
            raise ConfigurationError(
                f"only one server may work in a folder; another one works in {lock.parent}. "
                "Wait until it ends, or stop it."
            )
        yield


def occupied(lock: Path) -> bool:
    """Says whether a process holds ``lock``."""
    if not lock.exists():
        return False
    with lock.open("ab") as file:
        return not _take(file)


def _take(file: IO[bytes]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
