"""Callers are read side by side, each under one deadline and one bound for its request."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.silo.connection import send
from discreet.silo.reception import Reception

LONG = 20.0


class Door:
    """A listening socket with a reception, and peers that connect to it."""

    def __init__(self, path: Path, **changes: Any) -> None:
        self.path = path
        self.log: list[str] = []
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(str(path))
        self.listener.listen()
        settings = {"admit": lambda _: True, "most_bytes": lambda: 1000, "seconds": LONG, "callers": 2}
        self.reception = Reception(self.listener, log=self.log.append, **{**settings, **changes})
        self.peers: list[socket.socket] = []

    def connect(self, data: bytes = b"") -> socket.socket:
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        peer.settimeout(LONG)
        peer.connect(str(self.path))
        peer.sendall(data)
        self.peers.append(peer)
        return peer

    def next(self, patience: float = LONG) -> bytes | None:
        found = self.reception.next_request(patience)
        if found is None:
            return None
        connection, data = found
        connection.close()
        return data

    def settle(self) -> None:
        """Lets the reception read whatever was sent."""
        assert self.next(0.1) is None


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    made: list[Any] = []

    def make(**changes: Any) -> Door:
        made.append(Door(tmp_path / f"{len(made)}.sock", **changes))
        return made[-1]

    yield make
    for each in made:
        each.reception.__exit__(None, None, None)
        for connection in (each.listener, *each.peers):
            connection.close()


def framed(data: bytes) -> bytes:
    return len(data).to_bytes(8, "little") + data


def test_a_request_in_pieces_arrives_whole_and_an_empty_one_too(door: Callable[..., Any]) -> None:
    here = door()
    peer = here.connect()
    for byte in framed(b"hello"):
        assert here.next(0.01) is None
        peer.sendall(bytes([byte]))
    assert here.next() == b"hello"
    send(here.connect(), b"")
    assert here.next() == b""


def test_whoever_drips_does_not_keep_the_next_one_waiting(door: Callable[..., Any]) -> None:
    here = door()
    here.connect(b"\x08\x00")
    here.settle()
    here.connect(framed(b"real"))
    assert here.next() == b"real"


def test_one_deadline_holds_for_the_whole_request_however_many_pieces_it_comes_in(
    door: Callable[..., Any],
) -> None:
    here = door(seconds=0.3)
    peer = here.connect()
    with pytest.raises(OSError):  # noqa: PT012 (the peer learns of it at one of its bytes)
        for byte in framed(bytes(500)):
            assert here.next(0.02) is None
            peer.sendall(bytes([byte]))
    assert "not whole after 0.3 s" in here.log[0]


def test_time_in_which_the_silo_works_does_not_count(door: Callable[..., Any]) -> None:
    here = door(seconds=1.0)
    peer = here.connect(b"\x04\x00")
    here.settle()
    time.sleep(1.5)
    here.settle()
    peer.sendall(framed(b"late")[2:])
    assert here.next() == b"late"


def test_one_caller_too_many_takes_the_place_of_the_one_that_was_silent_longest(
    door: Callable[..., Any],
) -> None:
    here = door()
    silent, busy = here.connect(b"\x04"), here.connect(b"\x04")
    here.settle()
    here.settle()
    busy.sendall(b"\x00")
    here.settle()
    last = here.connect()
    here.settle()
    assert silent.recv(1) == b""
    busy.sendall(framed(b"busy")[2:])
    assert here.next() == b"busy"
    send(last, b"last")
    assert here.next() == b"last"
    assert "silent longest" in here.log[0]


def test_a_request_longer_than_makes_sense_is_dropped_before_its_bytes_come(door: Callable[..., Any]) -> None:
    most = [10]
    here = door(most_bytes=lambda: most[0])
    peer = here.connect((11).to_bytes(8, "little"))
    assert here.next(0.1) is None
    assert peer.recv(1) == b""
    assert "at most 10 bytes; it announced 11" in here.log[0]
    most[0] = 11
    here.connect(framed(bytes(11)))
    assert here.next() == bytes(11)


def test_whoever_is_not_admitted_is_answered_nothing(door: Callable[..., Any]) -> None:
    here = door(admit=lambda _: False)
    peer = here.connect(framed(b"hello"))
    assert here.next(0.1) is None
    with pytest.raises(ConnectionResetError):
        peer.recv(1)
