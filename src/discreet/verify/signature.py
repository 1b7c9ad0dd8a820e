"""The coordinator's signature under a run: Ed25519 (RFC 8032) over the digest of its manifest.

The report names the signer's public key and lies under the manifest. So a signature can neither be exchanged
nor taken away without the report saying that one is due.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from discreet.documents import read_json
from discreet.errors import ConfigurationError
from discreet.rounds.directory import write_durably
from discreet.secagg import Identity
from discreet.verify.finding import Basis, Finding, VerificationFailure
from discreet.verify.manifest import manifest_digest

SIGNATURE = "signature.json"

_VERSION = 1
_PURPOSE = b"discreet/run/v1/manifest"


@dataclass(frozen=True, slots=True)
class RunSignature:
    """Public key and signature, in hexadecimal."""

    public_key: str
    signature: str

    def serialise(self) -> bytes:
        """Returns the one form in which a signature is written."""
        document = {"version": _VERSION, "public_key": self.public_key, "signature": self.signature}
        return (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()


def sign(directory: Path, identity: Identity, digest: str | None = None) -> None:
    """Signs a run.

    Args:
        directory: of the run.
        identity: who signs.
        digest: of the manifest that is about to be written; left out, that of the one which is there.

    Raises:
        VerificationFailure: if the run was never sealed.
    """
    signature = identity.sign(_signed(digest or manifest_digest(directory))).hex()
    document = RunSignature(identity.public_key.hex(), signature).serialise()
    write_durably(directory / SIGNATURE, document)


def read_signature(directory: Path) -> RunSignature | None:
    """Returns the signature of a run, not yet checked; None for a run without one.

    Raises:
        VerificationFailure: if it is not in its one form.
    """
    try:
        data = (directory / SIGNATURE).read_bytes()
    except FileNotFoundError:
        return None
    try:
        document = read_json(data)
        found = RunSignature(document["public_key"], document["signature"])
        whole = found.serialise() == data
    except (ValueError, KeyError, TypeError):
        whole = False
    if not whole:
        raise VerificationFailure(f"{SIGNATURE} must be as it was written; it was altered.")
    return found


def require_key(directory: Path, identity: Identity | None) -> None:
    """Refuses to write a signed run again without a key: its signature would no longer fit.

    Raises:
        ConfigurationError: naming the option.
    """
    if identity is None and (directory / SIGNATURE).exists():
        raise ConfigurationError(
            f"a signed run must be signed again when it is written again; {directory} has a {SIGNATURE}. "
            "Give the coordinator's key as --sign KEY."
        )


def check_signature(directory: Path, key: str | None) -> Finding:
    """Checks the signature of a run whose manifest was checked before.

    Args:
        directory: of the run.
        key: the signer's public key, in hexadecimal, known from elsewhere; None to take the run's own word.

    Raises:
        VerificationFailure: if the signature is wrong, or missing or another's where ``key`` is given.
    """
    found = read_signature(directory)
    if found is None:
        if key is not None:
            raise VerificationFailure(
                f"{SIGNATURE} must be there to check it with a key; the run is unsigned."
            )
        return Finding("signature", Basis.NONE, "unsigned: nothing in these files shows who made the run")
    if key is not None and found.public_key != key.lower():
        raise VerificationFailure(
            f"{SIGNATURE} must be by the key that was given, {key}; it is by {found.public_key}."
        )
    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(found.public_key))
        public.verify(bytes.fromhex(found.signature), _signed(manifest_digest(directory)))
    except (ValueError, InvalidSignature):
        raise VerificationFailure(
            f"{SIGNATURE} must be a signature of this manifest; it is not. The run was altered, or written "
            "again without the key."
        ) from None
    whose = "the key that was given" if key is not None else f"{found.public_key}; is it the coordinator's?"
    return Finding("signature", Basis.SIGNED, f"of the manifest, by {whose}")


def _signed(digest: str) -> bytes:
    """Returns the bytes that are signed: their purpose, and the manifest's digest."""
    return _PURPOSE + bytes.fromhex(digest)
