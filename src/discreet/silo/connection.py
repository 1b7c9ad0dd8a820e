"""The line between a silo's process and whatever carries its messages; needs neither torch nor a model."""

from __future__ import annotations

import socket
import time
from pathlib import Path

from discreet.errors import ConfigurationError

LENGTH_BYTES = 8
"""A message stands behind its length: an unsigned integer, little-endian."""
PIECE = 1 << 20
"""Bytes that are read at once."""

_LONGEST_REPLY = 1 << 34


def ask(path: Path, request: bytes, *, timeout_seconds: float) -> bytes:
    """Sends one request to the silo that listens at ``path`` and returns its reply.

    Raises:
        ConfigurationError: if no silo listens there.
        ConnectionError: if the silo closes early, as it does to a peer that it does not talk to.
        TimeoutError: if the whole reply is not there in time.
    """
    deadline = time.monotonic() + timeout_seconds
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_seconds)
        try:
            connection.connect(str(path))
        except OSError as error:
            raise ConfigurationError(
                f"a silo must be listening at {path}; {error.strerror or error}. "
                "Start it with 'discreet silo serve policy.toml'; where the SuperNode has a user of its own, "
                "name the group that both are in with --socket-group."
            ) from None
        send(connection, request)
        return _receive(connection, deadline)


def send(connection: socket.socket, data: bytes) -> None:
    """Sends one message behind its length."""
    connection.sendall(len(data).to_bytes(LENGTH_BYTES, "little"))
    if data:
        connection.sendall(data)


def _receive(connection: socket.socket, deadline: float) -> bytes:
    """Receives one message."""
    size = int.from_bytes(_exactly(connection, LENGTH_BYTES, deadline), "little")
    if size > _LONGEST_REPLY:
        raise ConnectionError(f"a reply must have at most {_LONGEST_REPLY} bytes; got {size}.")
    return bytes(_exactly(connection, size, deadline))


def _exactly(connection: socket.socket, size: int, deadline: float) -> bytearray:
    data = bytearray()
    while len(data) < size:
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError(f"a message must arrive in time; {len(data)} of {size} bytes did.")
        connection.settimeout(remaining)
        part = connection.recv(min(PIECE, size - len(data)))
        if not part:
            raise ConnectionError(f"a message must have {size} bytes; the peer closed after {len(data)}.")
        data += part
    return data
