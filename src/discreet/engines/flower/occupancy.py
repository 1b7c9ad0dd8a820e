"""One server in one folder: a lock that every end of its process releases.

Whoever may open a file may lock it, for reading as well. So the lock is the server's user's alone, and a sign
beside it tells everybody who may read the folder; one who holds the sign deceives those readers and no other.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from discreet.errors import ConfigurationError
from discreet.locks import take, take_soon


@contextmanager
def occupy(lock: Path) -> Iterator[None]:
    """Holds ``lock`` for the block, as no other process can meanwhile.

    Raises:
        ConfigurationError: if another one does; nothing was changed.
    """
    with ExitStack() as held:
        try:
            own = held.enter_context(open(lock, "ab", opener=_for_owner))
            sign = held.enter_context(_sign(lock).open("ab"))
        except OSError as error:
            raise ConfigurationError(
                f"the server's folder must exist and be writable; {lock.parent}: {error.strerror}."
            ) from None
        if not take_soon(own):
            raise ConfigurationError(
                f"only one server may work in a folder; another one works in {lock.parent}. "
                "Wait until it ends, or stop it."
            )
        # Shared, as nobody is kept out by it; if it cannot be had, somebody else gives the same sign.
        take_soon(sign, shared=True)
        yield


def occupied(lock: Path) -> bool:
    """Says whether a process holds ``lock``; whoever may not open it believes the sign beside it."""
    for path in (lock, _sign(lock)):
        try:
            file = path.open("rb")
        except FileNotFoundError:
            return False
        except PermissionError:
            continue
        with file:
            return not take(file)
    return False


def _sign(lock: Path) -> Path:
    return lock.with_suffix(".working")


def _for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
