"""Certificates of a consortium: they verify, each party gets its own, and nothing is ever replaced."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from discreet.cli import main
from discreet.engines.flower.provision import Request, provision
from discreet.errors import ConfigurationError

YEAR = timedelta(days=365)
NAMES = ("fl.example.org", "10.0.0.5")
BOTH = Request(NAMES, ("north", "south"), YEAR, None)


def certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def verify(authority: Path, server: Path, subject: x509.DNSName | x509.IPAddress) -> None:
    builder = PolicyBuilder().store(Store([certificate(authority)]))
    builder.build_server_verifier(subject).verify(certificate(server), [])


@pytest.mark.parametrize("subject", [x509.DNSName("fl.example.org"), x509.DNSName("localhost"),
                                     x509.IPAddress(ip_address("10.0.0.5")),
                                     x509.IPAddress(ip_address("127.0.0.1"))])  # fmt: skip
def test_every_node_believes_the_server_by_each_of_its_names(tmp_path: Path, subject: Any) -> None:
    provision(BOTH, tmp_path)
    for node in BOTH.nodes:
        verify(tmp_path / "nodes" / node / "ca.crt", tmp_path / "server/server.pem", subject)


def test_a_name_that_was_not_asked_for_is_not_believed(tmp_path: Path) -> None:
    provision(BOTH, tmp_path)
    with pytest.raises(VerificationError):
        verify(tmp_path / "server/ca.crt", tmp_path / "server/server.pem", x509.DNSName("other.example.org"))


def test_a_nodes_own_interface_is_believed_on_loopback_and_by_its_own_authority_only(tmp_path: Path) -> None:
    provision(BOTH, tmp_path)
    loopback = x509.IPAddress(ip_address("127.0.0.1"))
    north = tmp_path / "nodes/north"
    verify(north / "local-ca.crt", north / "local.pem", loopback)
    for other in (tmp_path / "server/ca.crt", tmp_path / "nodes/south/local-ca.crt"):
        with pytest.raises(VerificationError):
            verify(other, north / "local.pem", loopback)


def test_each_private_key_belongs_to_the_public_part_beside_it(tmp_path: Path) -> None:
    provision(BOTH, tmp_path)
    pairs = [("server/server.pem", "server/server.key"), ("authority/ca.crt", "authority/ca.key"),
             ("nodes/north/local.pem", "nodes/north/local.key")]  # fmt: skip
    for shown, private in pairs:
        key = serialization.load_pem_private_key((tmp_path / private).read_bytes(), None)
        assert key.public_key() == certificate(tmp_path / shown).public_key()
    secret = serialization.load_ssh_private_key((tmp_path / "nodes/north/supernode.key").read_bytes(), None)
    public = serialization.load_ssh_public_key((tmp_path / "nodes/north/supernode.pub").read_bytes())
    assert secret.public_key() == public
    assert isinstance(public, EllipticCurvePublicKey)
    assert public.key_size == 384


def test_private_keys_are_their_owners_and_nobody_elses_folder_has_them(tmp_path: Path) -> None:
    provision(BOTH, tmp_path)
    private = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.key"))
    assert private == ["authority/ca.key", "nodes/north/local.key", "nodes/north/supernode.key",
                       "nodes/south/local.key", "nodes/south/supernode.key", "server/server.key"]  # fmt: skip
    for name in private:
        assert (tmp_path / name).stat().st_mode & 0o077 == 0
    contents = [path.read_bytes() for path in tmp_path.rglob("*.key")]
    assert len(set(contents)) == len(contents)


def test_an_authority_signs_no_further_authority(tmp_path: Path) -> None:
    provision(BOTH, tmp_path)
    for name in ("authority/ca.crt", "nodes/north/local-ca.crt"):
        found = certificate(tmp_path / name).extensions.get_extension_for_class(x509.BasicConstraints)
        assert found.critical
        assert (found.value.ca, found.value.path_length) == (True, 0)
    for name in ("server/server.pem", "nodes/north/local.pem"):
        found = certificate(tmp_path / name).extensions.get_extension_for_class(x509.BasicConstraints)
        assert not found.value.ca


def test_the_longest_names_make_files(tmp_path: Path) -> None:
    provision(Request((), ("n" * 64, "ö" * 32), YEAR, None), tmp_path)
    assert len(list((tmp_path / "nodes").iterdir())) == 2


def test_certificates_end_when_the_command_says(tmp_path: Path) -> None:
    provision(BOTH, tmp_path)
    for name in ("server/server.pem", "nodes/north/local.pem"):
        end = certificate(tmp_path / name).not_valid_after_utc
        assert abs(end - (datetime.now(UTC) + YEAR)) < timedelta(hours=1)


def test_the_same_authority_signs_next_years_certificate(tmp_path: Path) -> None:
    provision(BOTH, tmp_path / "first")
    again = Request(("new.example.org",), (), YEAR, tmp_path / "first/authority")
    provision(again, tmp_path / "second")
    verify(tmp_path / "first/nodes/north/ca.crt", tmp_path / "second/server/server.pem",
           x509.DNSName("new.example.org"))  # fmt: skip
    assert not (tmp_path / "second/authority").exists()


def test_a_hospital_makes_its_own_keys_alone(tmp_path: Path) -> None:
    provision(Request((), ("north",), YEAR, None), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["nodes"]
    names = sorted(path.name for path in (tmp_path / "nodes/north").iterdir())
    assert names == ["local-ca.crt", "local.key", "local.pem", "supernode.key", "supernode.pub"]


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (Request((), (), YEAR, None), "give --server, --nodes or both"),
        (Request(("0.0.0.0",), (), YEAR, None), "one that others connect to"),  # noqa: S104
        (Request(("fl.example.org:8000",), (), YEAR, None), "without port"),
        (Request(("*.example.org",), (), YEAR, None), "DNS name or an IP address"),
        (Request(NAMES, ("../north",), YEAR, None), "letters, digits"),
        (Request(NAMES, ("north", "north"), YEAR, None), "got 'north' again"),
        (Request(NAMES, ("A", "a"), YEAR, None), "got 'a' again"),
        (Request(NAMES, ("k\u00f6ln", "ko\u0308ln"), YEAR, None), "again"),
        (Request(NAMES, ("north", "n" * 65), YEAR, None), "at most 64 bytes long"),
        (Request(NAMES, ("north", "ö" * 33), YEAR, None), "at most 64 bytes long"),
        (Request(NAMES, (), 6 * YEAR, None), "must end before its authority's"),
        (Request((), ("north",), YEAR, Path("authority")), "give --server besides"),
        (Request(NAMES, (), YEAR, Path("nowhere")), "must hold ca.crt and ca.key"),
    ],
)
def test_what_cannot_be_made_is_one_line_and_no_file(tmp_path: Path, request_: Request, words: str) -> None:
    folder = tmp_path / "certificates"
    with pytest.raises(ConfigurationError, match=re.escape(words)) as refused:
        provision(request_, folder)
    assert "\n" not in str(refused.value)
    assert not folder.exists()


def test_an_authority_that_is_none_does_not_sign(tmp_path: Path) -> None:
    provision(BOTH, tmp_path / "first")
    fake = tmp_path / "fake"
    fake.mkdir()
    for source, name in (("server.pem", "ca.crt"), ("server.key", "ca.key")):
        (fake / name).write_bytes((tmp_path / "first/server" / source).read_bytes())
    (fake / "ca.key").chmod(0o600)
    with pytest.raises(ConfigurationError, match="must be the elliptic-curve key of the authority"):
        provision(Request(NAMES, (), YEAR, fake), tmp_path / "second")
    (tmp_path / "first/authority/ca.key").chmod(0o640)
    with pytest.raises(ConfigurationError, match="chmod 600"):
        provision(Request(NAMES, (), YEAR, tmp_path / "first/authority"), tmp_path / "second")


def test_nothing_is_replaced_and_the_command_says_what_goes_to_whom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "certificates"
    words = [
        "discreet",
        "consortium",
        "certificates",
        "--server",
        "fl.example.org",
        "--nodes",
        "north, south",
    ]
    monkeypatch.setattr(sys, "argv", [*words, "--out", str(out)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    printed = capsys.readouterr().out
    for part in ("authority", "server", "nodes/north", "nodes/south"):
        assert str(out / part) in printed
        assert (out / part).is_dir()
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert before == {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
