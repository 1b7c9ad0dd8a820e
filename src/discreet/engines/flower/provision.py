"""The certificates and node keys of a consortium, sorted by who gets them.

The server's certificate is signed by the consortium's authority, which every SuperNode believes. The
SuperNode's own interface on loopback has another authority, whose key is thrown away at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from discreet.engines.flower.certificates import (
    LOOPBACK,
    Authority,
    issue,
    load_authority,
    new_authority,
    new_node_key,
    write_private,
)
from discreet.engines.flower.scaffold import require_silo_names
from discreet.errors import ConfigurationError

_AUTHORITY_LIFETIME = timedelta(days=5 * 365)


@dataclass(frozen=True, slots=True)
class Request:
    """The keys and certificates to make.

    Attributes:
        server: names and addresses by which the SuperNodes reach the SuperLink; empty makes nothing for it.
        nodes: names of the hospitals whose SuperNodes get keys; may be empty.
        lifetime: of the certificates; a new authority's is five years.
        authority: folder of the authority that signs; None makes a new one.
    """

    server: tuple[str, ...]
    nodes: tuple[str, ...]
    lifetime: timedelta
    authority: Path | None


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    data: bytes = field(repr=False)
    private: bool = False


def provision(request: Request, folder: Path) -> None:
    """Writes the files into a new folder: ``authority/``, ``server/`` and ``nodes/NAME/``.

    Each is for one party. Nothing is written unless everything can be made. Private keys are readable by
    their owner only.

    Raises:
        ConfigurationError: if the folder is not new, a name cannot be used, or the authority cannot sign.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigurationError(
            f"certificates must go to a new or empty folder; {folder} is not. Give another with --out."
        )
    files = tuple(_made(request))
    try:
        for file in files:
            path = folder / file.path
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_private(path, file.data) if file.private else path.write_bytes(file.data)
    except OSError as error:
        raise ConfigurationError(
            f"the folder must be writable; {error.filename}: {error.strerror}."
        ) from None


def _made(request: Request) -> Iterator[_File]:
    if not (request.server or request.nodes):
        raise ConfigurationError("certificates must be for somebody; give --server, --nodes or both.")
    require_silo_names(request.nodes)
    authority = _signing(request)
    if authority is not None:
        yield from _server(authority, request)
    for node in request.nodes:
        yield from _node(Path("nodes") / node, request.lifetime)
        if authority is not None:
            yield _File(Path("nodes") / node / "ca.crt", authority.certificate_pem)


def _signing(request: Request) -> Authority | None:
    """Returns the authority of the server's certificate, if one is to be made."""
    if request.authority is not None and not request.server:
        raise ConfigurationError("--authority signs the server's certificate; give --server besides.")
    if not request.server:
        return None
    if request.authority is not None:
        return load_authority(request.authority)
    return new_authority("discreet consortium authority", _AUTHORITY_LIFETIME)


def _server(authority: Authority, request: Request) -> Iterator[_File]:
    pair = issue(authority, request.server, request.lifetime)
    if request.authority is None:
        yield _File(Path("authority/ca.crt"), authority.certificate_pem)
        yield _File(Path("authority/ca.key"), authority.key_pem, private=True)
    yield _File(Path("server/ca.crt"), authority.certificate_pem)
    yield _File(Path("server/server.pem"), pair.public)
    yield _File(Path("server/server.key"), pair.private, private=True)


def _node(folder: Path, lifetime: timedelta) -> Iterator[_File]:
    authority = new_authority("discreet local authority", lifetime + timedelta(days=1))
    local, identity = issue(authority, LOOPBACK, lifetime), new_node_key()
    yield _File(folder / "local-ca.crt", authority.certificate_pem)
    yield _File(folder / "local.pem", local.public)
    yield _File(folder / "local.key", local.private, private=True)
    yield _File(folder / "supernode.pub", identity.public)
    yield _File(folder / "supernode.key", identity.private, private=True)
