"""Certificates and node keys for Flower's connections (X.509, RFC 5280; OpenSSH keys), all on P-384."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from discreet.errors import ConfigurationError

LOOPBACK = ("localhost", "127.0.0.1")
_REHEARSAL = timedelta(days=7)
_CLOCK_SKEW = timedelta(minutes=5)
_LABEL = r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)"
_LONGEST_NAME = 253


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate authority that can sign: what it publishes, and its secret."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey = field(repr=False)

    @property
    def certificate_pem(self) -> bytes:
        """The authority's certificate, for everyone who must trust it."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        """The secret, unencrypted."""
        return _private_bytes(self.key, serialization.PrivateFormat.PKCS8)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A public part (a certificate or a public key) and the private key that belongs to it, unencrypted."""

    public: bytes
    private: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Certificates:
    """Where a certificate authority, and a server certificate for this machine that it signed, lie."""

    authority: Path
    certificate: Path
    key: Path


def new_authority(name: str, lifetime: timedelta) -> Authority:
    """Returns a new authority that may sign certificates of servers and no further authorities."""
    key = ec.generate_private_key(ec.SECP384R1())
    subject = _name(name)
    certificate = (
        _builder(subject, subject, key.public_key(), lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .sign(key, hashes.SHA384())
    )
    return Authority(certificate, key)


def load_authority(folder: Path) -> Authority:
    """Reads ``ca.crt`` and ``ca.key``.

    Raises:
        ConfigurationError: if they are missing, no pair, readable by others, or not of an authority on P-384.
    """
    try:
        mode = (folder / "ca.key").stat().st_mode
        certificate = x509.load_pem_x509_certificate((folder / "ca.crt").read_bytes())
        key = serialization.load_pem_private_key((folder / "ca.key").read_bytes(), password=None)
        constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    except OSError as error:
        raise ConfigurationError(
            f"the authority's folder must hold ca.crt and ca.key; {error.filename}: {error.strerror}."
        ) from None
    except (ValueError, TypeError, x509.ExtensionNotFound):
        raise ConfigurationError(
            f"{folder} must hold a certificate, ca.crt, and its unencrypted key, ca.key, in PEM; "
            "one of the files is none. Make them with: discreet consortium certificates."
        ) from None
    if mode & 0o077:
        raise ConfigurationError(
            f"{folder / 'ca.key'} must be readable by its owner only; run: chmod 600 {folder / 'ca.key'}"
        )
    if not (
        constraints.ca
        and isinstance(key, ec.EllipticCurvePrivateKey)
        and certificate.public_key() == key.public_key()
    ):
        raise ConfigurationError(
            f"{folder}: ca.key must be the elliptic-curve key of the authority in ca.crt; "
            "got another key, or a certificate of no authority."
        )
    return Authority(certificate, key)


def issue(authority: Authority, names: Sequence[str], lifetime: timedelta) -> KeyPair:
    """Returns a certificate for a server that is reached as any of ``names``, and its new key.

    Args:
        authority: signs the certificate, and must be valid for at least as long.
        names: DNS names and IP addresses; loopback is always added, for Flower's own processes beside it.
        lifetime: from now.

    Raises:
        ConfigurationError: if a name cannot be connected to, or the authority's certificate ends earlier.
    """
    alternatives = list(dict.fromkeys(_general_name(name) for name in (*names, *LOOPBACK)))
    end = authority.certificate.not_valid_after_utc
    if datetime.now(UTC) + lifetime > end:
        raise ConfigurationError(
            f"a certificate must end before its authority's, on {end:%Y-%m-%d}; got {lifetime.days} days. "
            "Give fewer days, or make a new authority."
        )
    key = ec.generate_private_key(ec.SECP384R1())
    certificate = (
        _builder(_name("server"), authority.certificate.subject, key.public_key(), lifetime)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), critical=False
        )
        .sign(authority.key, hashes.SHA384())
    )
    return KeyPair(
        certificate.public_bytes(serialization.Encoding.PEM),
        _private_bytes(key, serialization.PrivateFormat.PKCS8),
    )


def new_node_key() -> KeyPair:
    """Returns a SuperNode's key pair in OpenSSH form."""
    key = ec.generate_private_key(ec.SECP384R1())
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return KeyPair(public, _private_bytes(key, serialization.PrivateFormat.OpenSSH))


def make_certificates(folder: Path) -> Certificates:
    """Writes a new authority and a certificate for ``127.0.0.1`` and ``localhost``, for a rehearsal.

    The authority's own private key is never written: nobody can sign a second certificate.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = Certificates(folder / "ca.crt", folder / "server.pem", folder / "server.key")
    authority = new_authority("discreet rehearsal authority", 2 * _REHEARSAL)
    server = issue(authority, LOOPBACK, _REHEARSAL)
    files.authority.write_bytes(authority.certificate_pem)
    files.certificate.write_bytes(server.public)
    write_private(files.key, server.private)
    return files


def make_node_key(path: Path) -> Path:
    """Writes a SuperNode's key pair and returns the public key's path."""
    pair = new_node_key()
    write_private(path, pair.private)
    public = path.with_suffix(".pub")
    public.write_bytes(pair.public)
    return public


def write_private(path: Path, data: bytes) -> None:
    """Writes a new file that only its owner may read; an existing one is an error."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def _general_name(name: str) -> x509.GeneralName:
    try:
        address = ip_address(name)
    except ValueError:
        if len(name) > _LONGEST_NAME or not re.fullmatch(rf"{_LABEL}(\.{_LABEL})*", name):
            raise ConfigurationError(
                f"a server's name must be a DNS name or an IP address, without port; got {name!r}."
            ) from None
        return x509.DNSName(name)
    if address.is_unspecified or address.is_multicast:
        raise ConfigurationError(
            f"a server's address must be one that others connect to; got {name}. Give its own address."
        )
    return x509.IPAddress(address)


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, public_key: ec.EllipticCurvePublicKey, lifetime: timedelta
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + lifetime)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _private_bytes(key: ec.EllipticCurvePrivateKey, form: serialization.PrivateFormat) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
