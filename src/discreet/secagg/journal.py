"""What a client has already done, kept where a crash cannot undo it, so that nothing is ever done twice.

A claim is persisted *before* the message that it stands for leaves the client. A client that crashes between
the two has lost that message; it takes part again in a later attempt, with fresh keys.
"""

from __future__ import annotations

import os
import struct
import zlib
from enum import Enum
from pathlib import Path
from typing import Protocol, final

from discreet.errors import LocalProtocolError, PeerProtocolError
from discreet.secagg.codes import AbortCode

_RECORD = struct.Struct("<32sBQ")
_CHECKSUM = struct.Struct("<I")


class Deed(Enum):
    """What can be claimed. Each kind has its own counter in every session, which only grows."""

    OFFER_KEYS = 1
    """Counter: the epoch."""
    SHARE_SECRETS = 2
    """Counter: the epoch."""
    SEND_MASKED = 3
    """Counter: round and attempt, see `round_counter`."""
    CONFIRM_SURVIVORS = 4
    """Counter: round and attempt."""
    RELEASE_SHARES = 5
    """Counter: round and attempt."""


def round_counter(round_index: int, attempt: int) -> int:
    """Orders rounds, and attempts within them."""
    # An attempt has 32 bits, so a later round counts more than every attempt at an earlier one.
    return round_index << 32 | attempt


class Journal(Protocol):
    """A memory of claims."""

    def claim(self, session: bytes, deed: Deed, counter: int) -> None:
        """Records a deed durably.

        Raises:
            PeerProtocolError: code ``replayed``, if the counter is not above all earlier ones of this deed
                and session. Nothing may be sent then.
        """
        ...


@final
class MemoryJournal:
    """Remembers for as long as the process lives: for simulations, and tests of a single run.

    Example:
        >>> journal = MemoryJournal()
        >>> journal.claim(bytes(32), Deed.OFFER_KEYS, 1)
        >>> journal.claim(bytes(32), Deed.OFFER_KEYS, 1)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        discreet.errors.PeerProtocolError: offer-keys must come after all earlier ones of its session; ...
    """

    def __init__(self) -> None:
        self._last: dict[tuple[bytes, Deed], int] = {}

    def claim(self, session: bytes, deed: Deed, counter: int) -> None:
        """Records a deed; see `Journal`."""
        last = self._last.get((session, deed), -1)
        # A memory of the highest suffices and cannot be forgotten in part: what was skipped is used up, too.
        if not counter > last:
            raise PeerProtocolError(
                AbortCode.REPLAYED,
                f"{deed.name.lower().replace('_', '-')} must come after all earlier ones of its session; "
                f"got counter {counter} after {last}. Try again under a later epoch or attempt.",
            )
        self._last[session, deed] = counter


@final
class FileJournal:
    """Remembers across crashes: an append-only file, flushed to disk before a claim counts.

    A record that a crash cut short was never claimed successfully, so it is dropped. Anything else that does
    not check out is refused: a client that cannot know what it did must not go on. One process at a time may
    use a file.

    Raises:
        LocalProtocolError: if the file is damaged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._memory = MemoryJournal()
        size = _RECORD.size + _CHECKSUM.size
        if not path.exists():
            _create_durably(path)
        data = path.read_bytes()
        whole = len(data) - len(data) % size
        for start in range(0, whole, size):
            self._recall(data[start : start + _RECORD.size], data[start + _RECORD.size : start + size])
        if whole < len(data):
            # Else the next record would be written behind half a record and never be found again.
            os.truncate(path, whole)

    def claim(self, session: bytes, deed: Deed, counter: int) -> None:
        """Records a deed; see `Journal`."""
        # Refused claims never reach the file: with one in it, the next start would refuse the whole file.
        self._memory.claim(session, deed, counter)
        record = _RECORD.pack(session, deed.value, counter)
        with self._path.open("ab") as file:
            file.write(record + _CHECKSUM.pack(zlib.crc32(record)))
            file.flush()
            # Only when this returns may the message leave. In the other order a crash could forget a masked
            # input that the server has, and the next one would meet the same masks.
            os.fsync(file.fileno())

    def _recall(self, record: bytes, checksum: bytes) -> None:
        """Replays one record into memory."""
        session, deed, counter = _RECORD.unpack(record)
        known = {one.value for one in Deed}
        if deed not in known or _CHECKSUM.unpack(checksum)[0] != zlib.crc32(record):
            raise LocalProtocolError(
                AbortCode.REPLAYED,
                f"{self._path} must hold whole records; one is damaged. Start a new session.",
            )
        self._memory.claim(session, Deed(deed), counter)


def _create_durably(path: Path) -> None:
    """Makes an empty file whose name survives a crash of the machine."""
    path.touch(mode=0o600)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
