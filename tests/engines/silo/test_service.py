"""The silo's service: for its owner only, one request at a time, alive after every bad one."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.engines.flower.rehearsal import rehearsed, served
from discreet.engines.flower.service import serve_training
from discreet.errors import ConfigurationError
from discreet.silo.connection import ask
from discreet.silo.requests import (
    Hello,
    Present,
    Refused,
    Request,
    decode,
    encode,
)
from discreet.silo.silo import Silo
from tests.engines.conftest import DirectWire, SmallConsortium

TIMEOUT = 20.0


@pytest.fixture
def listening(consortium: SmallConsortium, tmp_path: Path) -> Iterator[tuple[Silo, Path]]:
    silo = consortium.silos[100]
    with served(silo, tmp_path / "s.sock"):
        yield silo, tmp_path / "s.sock"


def test_a_greeting_is_answered_and_the_socket_is_private(listening: tuple[Silo, Path]) -> None:
    silo, path = listening
    assert decode(ask(path, encode(Hello()), timeout_seconds=TIMEOUT)) == Present(silo.name)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("junk", [b"", b"junk", encode(Present("me"))])
def test_whatever_is_no_request_is_refused_and_the_silo_lives_on(
    listening: tuple[Silo, Path], junk: bytes
) -> None:
    _, path = listening
    reply = decode(ask(path, junk, timeout_seconds=TIMEOUT))
    assert isinstance(reply, Refused)
    assert reply.code == "protocol"
    assert isinstance(decode(ask(path, encode(Hello()), timeout_seconds=TIMEOUT)), Present)


def test_a_peer_that_hangs_up_harms_nobody(listening: tuple[Silo, Path]) -> None:
    _, path = listening
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(str(path))
        connection.sendall((1 << 40).to_bytes(8, "little"))
    assert isinstance(decode(ask(path, encode(Hello()), timeout_seconds=TIMEOUT)), Present)


def test_a_request_may_be_as_long_as_the_model_of_the_training_in_progress_makes_it(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    longest = set()

    def note(node: int, request: Request) -> Request | None:
        longest.add(consortium.silos[node].longest_request)
        return request

    wire = direct_wire(consortium.silos, tamper=note)
    serve_training(wire, consortium.folder.server, patience_seconds=0.05)
    assert longest == {1 << 26, (1 << 26) + 8 * consortium.plan.grid.dimension}


class Panic(BaseException):
    """As compiled extensions raise it, which is no ``Exception``."""


def test_an_unexpected_failure_tells_the_peer_nothing_and_the_silo_lives_on(
    listening: tuple[Silo, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    silo, path = listening
    for error in (RuntimeError("patient 17"), SystemExit("patient 17"), Panic("patient 17")):

        def fail(*_: Hello | Silo, error: BaseException = error) -> None:
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(type(silo), "handle", fail)
            reply = decode(ask(path, encode(Hello()), timeout_seconds=TIMEOUT))
        assert reply == Refused(silo.name, "internal", "the silo failed; its own log says why.")
    assert decode(ask(path, encode(Hello()), timeout_seconds=TIMEOUT)) == Present(silo.name)


def test_nobody_at_home_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="discreet silo serve"):
        ask(tmp_path / "nobody.sock", b"", timeout_seconds=TIMEOUT)


def test_a_path_that_is_too_long_is_refused(consortium: SmallConsortium, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError), served(consortium.silos[100], tmp_path / ("x" * 120)):
        pass


def test_a_rehearsal_without_policies_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"policy\.toml"), rehearsed(tmp_path):
        pass
