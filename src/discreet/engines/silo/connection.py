"""The line between a silo's process and whatever carries its messages; needs neither torch nor a model."""

from __future__ import annotations

import socket
from pathlib import Path

from discreet.errors import ConfigurationError

_LENGTH_BYTES = 8
_PIECE = 1 << 20
_MOST_BYTES = 1 << 34


def ask(path: Path, request: bytes, *, timeout_seconds: float) -> bytes:
    """Sends one request to the silo that listens at ``path`` and returns its reply.

    Raises:
        ConfigurationError: if no silo listens there.
        TimeoutError: if it does not answer in time.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_seconds)
        try:
            connection.connect(str(path))
        except OSError as error:
            raise ConfigurationError(
                f"a silo must be listening at {path}; {error.strerror or error}. "
                "Start it with 'discreet silo serve policy.toml'."
            ) from None
        send(connection, request)
        return receive(connection)


def send(connection: socket.socket, data: bytes) -> None:
    """Sends one message behind its length."""
    connection.sendall(len(data).to_bytes(_LENGTH_BYTES, "little"))
    if data:
        connection.sendall(data)


def receive(connection: socket.socket) -> bytes:
    """Receives one message.

    Raises:
        ConnectionError: if the peer closes early or announces too much.
    """
    size = int.from_bytes(_exactly(connection, _LENGTH_BYTES), "little")
    if size > _MOST_BYTES:
        raise ConnectionError(f"a message must have at most {_MOST_BYTES} bytes; got {size}.")
    return bytes(_exactly(connection, size))


def _exactly(connection: socket.socket, size: int) -> bytearray:
    data = bytearray()
    while len(data) < size:
        part = connection.recv(min(_PIECE, size - len(data)))
        if not part:
            raise ConnectionError(f"a message must have {size} bytes; the peer closed after {len(data)}.")
        data += part
    return data
