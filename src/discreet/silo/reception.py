"""Reads what several callers send side by side, so that one who drips bytes keeps nobody waiting."""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self, final

from discreet.silo.connection import LENGTH_BYTES, PIECE

_MOST_CALLERS = 8
_MESSAGE_SECONDS = 60.0


@dataclass(slots=True)
class _Caller:
    """One connection and what came of its request."""

    connection: socket.socket
    deadline: float
    active: float
    size: int | None = None
    data: bytearray = field(default_factory=bytearray)


@final
class Reception:
    """Takes connections of a listening socket and returns whole requests, one at a time.

    Guarantee:
        A request that is not whole ``seconds`` after its caller was let in is dropped; time in which the
        silo works on another's request does not count. Never more than ``callers`` are read at once: one
        more takes the place of the one that has been silent longest. No memory is taken for bytes that have
        not arrived, and none beyond ``most_bytes()`` for a caller.

    Args:
        listener: bound and listening.
        admit: says whether to talk to whoever connected.
        most_bytes: length of the longest request that makes sense at the moment.
        log: takes a line for each caller that was dropped.
        seconds: for one whole request.
        callers: how many are read at once.
    """

    def __init__(
        self,
        listener: socket.socket,
        *,
        admit: Callable[[socket.socket], bool],
        most_bytes: Callable[[], int],
        log: Callable[[str], None],
        seconds: float = _MESSAGE_SECONDS,
        callers: int = _MOST_CALLERS,
    ) -> None:
        self._listener = listener
        self._admit = admit
        self._most_bytes = most_bytes
        self._log = log
        self._seconds = seconds
        self._most_callers = callers
        self._callers: list[_Caller] = []
        self._selector = selectors.DefaultSelector()
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ)
        self._left = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for caller in list(self._callers):
            self._dismiss(caller).close()
        self._selector.close()

    def next_request(self, patience_seconds: float) -> tuple[socket.socket, bytes] | None:
        """Returns a caller and its whole request, or None if there is none within ``patience_seconds``.

        The connection is the receiver's to answer and to close; it waits ``seconds`` for a slow reader.
        """
        now = time.monotonic()
        for caller in self._callers:
            caller.deadline += now - self._left
        try:
            return self._wait(now + patience_seconds)
        finally:
            self._left = time.monotonic()

    def _wait(self, until: float) -> tuple[socket.socket, bytes] | None:
        while (now := time.monotonic()) < until:
            events = [key for key, _ in self._selector.select(until - now)]
            for caller in (key.data for key in events if key.data is not None):
                if self._read(caller):
                    connection = self._dismiss(caller)
                    connection.settimeout(self._seconds)
                    return connection, bytes(caller.data)
            if any(key.data is None for key in events):
                self._let_in()
            for caller in [each for each in self._callers if each.deadline < time.monotonic()]:
                self._drop(caller, f"its request was not whole after {self._seconds:g} s")
        return None

    def _let_in(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:  # it went away again
            return
        if not self._admit(connection):
            connection.close()
            return
        if len(self._callers) >= self._most_callers:
            silent = min(self._callers, key=lambda caller: caller.active)
            self._drop(silent, "others came, and it had been silent longest")
        connection.setblocking(False)
        now = time.monotonic()
        caller = _Caller(connection, now + self._seconds, now)
        self._callers.append(caller)
        self._selector.register(connection, selectors.EVENT_READ, caller)

    def _read(self, caller: _Caller) -> bool:
        """Takes what has arrived and says whether the request is whole; drops whoever makes no sense."""
        wanted = (LENGTH_BYTES if caller.size is None else caller.size) - len(caller.data)
        try:
            part = caller.connection.recv(min(PIECE, wanted))
        except OSError as error:
            self._drop(caller, error.strerror or str(error))
            return False
        if not part:
            self._drop(caller, "it closed before its request was whole")
            return False
        caller.data += part
        caller.active = time.monotonic()
        if caller.size is None and len(caller.data) == LENGTH_BYTES:
            caller.size = int.from_bytes(caller.data, "little")
            caller.data.clear()
            if caller.size > (most := self._most_bytes()):
                self._drop(caller, f"a request must have at most {most} bytes; it announced {caller.size}")
                return False
        return len(caller.data) == caller.size

    def _drop(self, caller: _Caller, why: str) -> None:
        self._dismiss(caller).close()
        self._log(f"a caller was dropped: {why}.")

    def _dismiss(self, caller: _Caller) -> socket.socket:
        self._callers.remove(caller)
        self._selector.unregister(caller.connection)
        return caller.connection
