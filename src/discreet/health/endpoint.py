"""A small HTTP server for whoever monitors this machine: ``/healthz`` and ``/metrics``, and nothing else.

It answers one request at a time and closes the connection, so that nobody can make it use more than one
thread. It reads nothing but the request line and headers.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import re
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Self

from discreet.errors import ConfigurationError
from discreet.health.exposition import CONTENT_TYPE, Metric, exposition

_SHAPE = re.compile(r"(?:(?P<host>\[[0-9a-fA-F:.]+\]|[^:\[\]]+):)?(?P<port>[0-9]{1,5})")
_PEER_SECONDS = 5.0
_LARGEST_PORT = 65535


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen.

    Attributes:
        host: an IP address of this machine.
        port: 0 lets the system choose.
    """

    host: str
    port: int

    @classmethod
    def parse(cls, text: str, *, option: str) -> Self:
        """Reads ``HOST:PORT``, or ``PORT`` alone, which means this machine only.

        Raises:
            ConfigurationError: if it is neither.

        Example:
            >>> Address.parse("9464", option="--metrics")
            Address(host='127.0.0.1', port=9464)
        """
        found = _SHAPE.fullmatch(text)
        host = (found["host"] or "localhost").strip("[]") if found else ""
        host = "127.0.0.1" if host == "localhost" else host
        try:
            ipaddress.ip_address(host)
        except ValueError:
            found = None
        if found is None or int(found["port"]) > _LARGEST_PORT:
            raise ConfigurationError(
                f"{option} must be an IP address and a port, such as 127.0.0.1:9464 or [::1]:9464; "
                f"got {text!r}."
            )
        return cls(host, int(found["port"]))

    @property
    def warning(self) -> str | None:
        """A warning for an owner who opens this address to other machines; None if it stays local."""
        address = ipaddress.ip_address(self.host)
        if address.is_loopback:
            return None
        who = "every network of this machine" if address.is_unspecified else f"the network of {self.host}"
        return (
            f"whoever is on {who} can read the metrics: they have no password and no encryption. "
            "They hold budgets, counts of rounds and when a round was answered, from which a frequent reader "
            "learns about how long training took; else nothing about records."
        )

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Endpoint:
    """Answers at ``address`` from a thread of its own while the context lasts.

    Args:
        address: where.
        health: what ``/healthz`` says besides ``"status": "ok"``.
        metrics: what ``/metrics`` says; both are called in the endpoint's thread.

    Raises:
        ConfigurationError: if the address cannot be used.
    """

    def __init__(
        self,
        address: Address,
        *,
        health: Callable[[], Mapping[str, object]],
        metrics: Callable[[], Iterable[Metric]],
    ) -> None:
        try:
            self._server = _Server(address, {"/healthz": _healthz(health), "/metrics": _metrics(metrics)})
        except OSError as error:
            raise ConfigurationError(
                f"the address of the metrics must be free and this machine's; {address}: {error.strerror}. "
                "Give another one."
            ) from None
        self._thread = threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True)

    @property
    def address(self) -> Address:
        """Where it listens; the port is the one that the system chose if 0 was asked for."""
        host, port = self._server.server_address[:2]
        return Address(str(host), int(port))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # A caller that sends its request byte by byte must not keep the process from ending.
        threading.Thread(target=self._server.shutdown, daemon=True).start()
        self._server.cut()
        self._thread.join(_PEER_SECONDS)
        self._server.server_close()


_Page = Callable[[], tuple[str, bytes]]
"""Makes the content type and the body of one path."""


def _healthz(health: Callable[[], Mapping[str, object]]) -> _Page:
    return lambda: ("application/json", json.dumps({"status": "ok", **health()}).encode() + b"\n")


def _metrics(metrics: Callable[[], Iterable[Metric]]) -> _Page:
    return lambda: (CONTENT_TYPE, exposition(metrics()).encode())


class _Server(HTTPServer):
    def __init__(self, address: Address, pages: Mapping[str, _Page]) -> None:
        self.address_family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        self.pages = pages
        self._caller: socket.socket | None = None
        super().__init__((address.host, address.port), _Answer)

    def server_bind(self) -> None:
        """Binds without asking a name server for this machine's name, as `HTTPServer` would."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Answers one caller, who has so many seconds for the whole request, in whatever pieces it comes."""
        self._caller = request
        limit = threading.Timer(_PEER_SECONDS, _hang_up, (request,))
        limit.daemon = True
        limit.start()
        try:
            super().finish_request(request, client_address)
        finally:
            limit.cancel()
            self._caller = None

    def cut(self) -> None:
        """Hangs up on whoever is being answered."""
        if self._caller is not None:
            _hang_up(self._caller)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing: a monitor that hangs up is no event of the silo's."""


def _hang_up(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class _Answer(BaseHTTPRequestHandler):
    server: _Server
    timeout = _PEER_SECONDS

    def do_GET(self) -> None:
        page = self.server.pages.get(self.path)
        if page is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        try:
            kind, body = page()
        except Exception as error:
            # Damaged files, say: the monitor learns that something is wrong, the owner's commands say what.
            self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR, type(error).__name__)
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        """Names neither Python nor its version."""
        return "discreet"

    def log_message(self, *_: object) -> None:
        """Keeps requests of monitors out of the silo's log."""
