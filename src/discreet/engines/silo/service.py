"""A silo's process: answers requests at a Unix socket that only its owner may open."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

from discreet.engines.silo.connection import receive, send
from discreet.engines.silo.requests import Deliver, Farewell, Hello, Propose, Refused, decode, encode
from discreet.engines.silo.silo import Silo
from discreet.errors import ConfigurationError, PeerProtocolError
from discreet.policy import RefusalCode

_LONGEST_SOCKET_PATH = 100
_POLL_SECONDS = 0.2
# A peer that connects and then says nothing keeps the others waiting no longer than this.
_PEER_SECONDS = 120.0


def serve(
    silo: Silo,
    path: Path,
    *,
    stop: threading.Event,
    ready: Callable[[], None],
    log: Callable[[str], None],
) -> None:
    """Answers requests at the Unix socket ``path``, one at a time, until ``stop`` is set.

    Raises:
        ConfigurationError: if the socket cannot be opened.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        _listen(listener, path)
        try:
            ready()
            while not stop.is_set():
                try:
                    connection, _ = listener.accept()
                except TimeoutError:
                    continue
                with connection:
                    connection.settimeout(_PEER_SECONDS)
                    _serve_one(silo, connection, log)
        finally:
            path.unlink(missing_ok=True)


def check_socket_path(path: Path) -> None:
    """Refuses a path that the system would not take.

    Raises:
        ConfigurationError: if it is too long.
    """
    if len(str(path)) > _LONGEST_SOCKET_PATH:
        raise ConfigurationError(
            f"the socket's path must be at most {_LONGEST_SOCKET_PATH} characters; got {len(str(path))}. "
            "Give a shorter one with --socket."
        )


def _listen(listener: socket.socket, path: Path) -> None:
    check_socket_path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    mask = os.umask(0o177)
    try:
        listener.bind(str(path))
    except OSError as error:
        raise ConfigurationError(f"the socket must be usable; {path}: {error.strerror}.") from None
    finally:
        os.umask(mask)
    listener.listen()
    listener.settimeout(_POLL_SECONDS)


def _serve_one(silo: Silo, connection: socket.socket, log: Callable[[str], None]) -> None:
    """Answers one request; whatever goes wrong is logged here and told to the peer without details."""
    try:
        reply = _answer(silo, receive(connection))
    except Exception as error:
        log(f"internal error: {type(error).__name__}: {error}")
        reply = encode(
            Refused(silo.name, str(RefusalCode.INTERNAL), "the silo failed; its own log says why.")
        )
    try:
        send(connection, reply)
    except OSError as error:
        log(f"the reply could not be delivered: {error.strerror}")


def _answer(silo: Silo, data: bytes) -> bytes:
    try:
        request = decode(data)
    except PeerProtocolError as error:
        return encode(Refused(silo.name, str(RefusalCode.PROTOCOL), str(error)))
    if not isinstance(request, Hello | Propose | Deliver | Farewell):
        return encode(Refused(silo.name, str(RefusalCode.PROTOCOL), "a silo takes requests, not replies."))
    return encode(silo.handle(request))
