"""The address of metrics: on this machine unless another is named, and two pages."""

from __future__ import annotations

import http.client
import json
import socket
import time

import pytest

from discreet.errors import ConfigurationError
from discreet.health import Address, Endpoint
from discreet.health.exposition import CONTENT_TYPE, Kind, Metric, exposition, gauge
from tests.unit.health.exposition_text import parse

LOCAL = Address("127.0.0.1", 0)


def get(endpoint: Endpoint, path: str, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection(endpoint.address.host, endpoint.address.port, timeout=10)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read()
    finally:
        connection.close()


def test_health_and_metrics_are_served_and_nothing_else() -> None:
    answering = Endpoint(LOCAL, health=lambda: {"serving": True}, metrics=lambda: [gauge("up", "Up.", 1)])
    with answering as endpoint:
        status, headers, body = get(endpoint, "/healthz")
        assert (status, json.loads(body)) == (200, {"status": "ok", "serving": True})
        assert headers["Server"] == "discreet"
        status, headers, body = get(endpoint, "/metrics")
        assert (status, headers["Content-Type"]) == (200, CONTENT_TYPE)
        assert parse(body.decode()).values() == {("up", ()): 1.0}
        assert get(endpoint, "/../etc/passwd")[0] == 404
        assert get(endpoint, "/metrics", "POST")[0] == 501


def test_a_failure_names_its_kind_and_no_more_and_the_next_request_is_answered() -> None:
    def broken() -> list[Metric]:
        raise OSError("/hospital/secret/path")

    with Endpoint(LOCAL, health=dict, metrics=broken) as endpoint:
        status, _, body = get(endpoint, "/metrics")
        assert status == 500
        assert b"secret" not in body
        assert get(endpoint, "/healthz")[0] == 200


def test_whoever_hangs_up_harms_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    with Endpoint(LOCAL, health=dict, metrics=list) as endpoint:
        address = (endpoint.address.host, endpoint.address.port)
        with socket.create_connection(address, timeout=10) as connection:
            connection.sendall(b"GET /metr")
        assert get(endpoint, "/healthz")[0] == 200
    assert capsys.readouterr().err == ""


def test_an_address_in_use_is_one_clear_line() -> None:
    with (
        Endpoint(LOCAL, health=dict, metrics=list) as endpoint,
        pytest.raises(ConfigurationError, match="must be free"),
    ):
        Endpoint(endpoint.address, health=dict, metrics=list)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("9464", Address("127.0.0.1", 9464)),
        ("localhost:9464", Address("127.0.0.1", 9464)),
        ("[::1]:9464", Address("::1", 9464)),
        ("10.0.0.7:80", Address("10.0.0.7", 80)),
    ],
)
def test_addresses_that_are_read(text: str, address: Address) -> None:
    assert Address.parse(text, option="--metrics") == address


@pytest.mark.parametrize(
    "text", ["", "127.0.0.1", "host.example:1", "127.0.0.1:65536", ":9464", "a b:1", "::1:2"]
)
def test_addresses_that_are_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"--metrics must be .*127\.0\.0\.1:9464"):
        Address.parse(text, option="--metrics")


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("0.0.0.0", "every network"),  # noqa: S104 (nothing listens)
        ("::", "every network"),
        ("10.0.0.7", "the network of 10.0.0.7"),
    ],
)
def test_an_address_that_others_can_reach_comes_with_a_warning(host: str, words: str) -> None:
    assert words in str(Address(host, 1).warning)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.9", "::1"])
def test_an_address_of_this_machine_alone_comes_without(host: str) -> None:
    assert Address(host, 1).warning is None


def test_help_and_labels_are_escaped() -> None:
    odd = 'back\\slash "quoted"\nline'
    text = exposition([Metric("odd", Kind.GAUGE, odd, (({"name": odd}, float("inf")),))])
    family = parse(text).families["odd"]
    assert (family.help, family.samples) == (odd, {(("name", odd),): float("inf")})


def test_a_caller_that_never_comes_to_an_end_keeps_nobody_waiting() -> None:
    endpoint = Endpoint(LOCAL, health=dict, metrics=list)
    with endpoint, socket.create_connection((endpoint.address.host, endpoint.address.port)) as dripping:
        dripping.sendall(b"GET /healthz HT")
        while endpoint._server._caller is None:
            time.sleep(0.01)
        began = time.monotonic()
        endpoint.__exit__(None, None, None)
        assert dripping.recv(1) == b""
    assert not endpoint._thread.is_alive()
    assert time.monotonic() - began < 4.0  # far below the peer's own limit


def test_a_whole_request_has_one_limit_in_whatever_pieces_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.health.endpoint._PEER_SECONDS", 0.2)
    with (
        Endpoint(LOCAL, health=dict, metrics=list) as endpoint,
        socket.create_connection((endpoint.address.host, endpoint.address.port)) as dripping,
    ):

        def drip() -> None:
            for _ in range(200):
                dripping.sendall(b"G")
                time.sleep(0.02)

        with pytest.raises(OSError, match=r"pipe|reset"):
            drip()
        assert get(endpoint, "/healthz")[0] == 200
