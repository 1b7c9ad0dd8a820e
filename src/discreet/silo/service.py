"""A silo's process: answers requests at a Unix socket, one at a time."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path

from discreet.errors import PeerProtocolError, in_words
from discreet.silo.connection import send
from discreet.silo.doorway import listen, why_not
from discreet.silo.policy import RefusalCode
from discreet.silo.reception import Reception
from discreet.silo.requests import Refused, Request, decode, encode
from discreet.silo.silo import Silo

_POLL_SECONDS = 0.2


def serve(
    silo: Silo,
    path: Path,
    *,
    stop: threading.Event,
    ready: Callable[[], None],
    log: Callable[[str], None],
    group: int | None = None,
) -> None:
    """Answers requests at the Unix socket ``path``, one at a time, until ``stop`` is set.

    Args:
        silo: whoever answers.
        path: where it listens.
        stop: ends it.
        ready: is called once it listens.
        log: takes the owner's lines.
        group: number of the group whose members may connect; None for the owner alone.

    Raises:
        ConfigurationError: if the socket cannot be opened.
    """
    told: set[str] = set()

    def admit(connection: socket.socket) -> bool:
        reason = why_not(connection, group)
        if reason is not None and not told:
            told.add(reason)
            log(reason)
        return reason is None

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listen(listener, path, group)
        try:
            with Reception(
                listener, admit=admit, most_bytes=lambda: silo.longest_request, log=log
            ) as reception:
                ready()
                while not stop.is_set():
                    call = reception.next_request(_POLL_SECONDS)
                    if call is not None:
                        connection, data = call
                        with connection:
                            _serve_one(silo, connection, data, log)
        finally:
            path.unlink(missing_ok=True)


def _serve_one(silo: Silo, connection: socket.socket, data: bytes, log: Callable[[str], None]) -> None:
    """Answers one request; whatever goes wrong is logged here and told to the peer without details."""
    try:
        reply = _answer(silo, data)
    # A factory of the owner's that ends the program, and a panic of compiled code, are no `Exception`: one
    # proposal that leads to either would end the silo. Signals raise nothing in a serving silo.
    except BaseException as error:
        log(f"internal error: {in_words(error)}")
        reply = encode(
            Refused(silo.name, str(RefusalCode.INTERNAL), "the silo failed; its own log says why.")
        )
    try:
        send(connection, reply)
    except OSError as error:
        log(f"the reply could not be delivered: {error.strerror or error}")


def _answer(silo: Silo, data: bytes) -> bytes:
    try:
        request = decode(data)
    except PeerProtocolError as error:
        return encode(Refused(silo.name, str(RefusalCode.PROTOCOL), str(error)))
    if not isinstance(request, Request):
        return encode(Refused(silo.name, str(RefusalCode.PROTOCOL), "a silo takes requests, not replies."))
    return encode(silo.handle(request))
