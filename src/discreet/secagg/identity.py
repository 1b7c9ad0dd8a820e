"""Who is who: long-lived Ed25519 identities and the list of those who are enrolled (RFC 8032)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from discreet.errors import ConfigurationError, PeerProtocolError
from discreet.randomness import RandomSource
from discreet.secagg.codes import AbortCode
from discreet.secagg.hazmat.secret import Secret
from discreet.secagg.terms import ClientId
from discreet.secagg.wire import counted

_KEY_BYTES = 32
SIGNATURE_BYTES = 64


@final
class Identity:
    """A client's signing key. Its holder *is* the client; keep it out of logs and version control."""

    __slots__ = ("_key", "public_key")

    def __init__(self, private_key: Secret) -> None:
        self._key = private_key
        self.public_key = self._signer().public_key().public_bytes_raw()

    @classmethod
    def generate(cls, randomness: RandomSource) -> Identity:
        """Draws a new identity."""
        return cls(Secret(randomness.random_bytes(_KEY_BYTES)))

    def sign(self, content: bytes) -> bytes:
        """Returns the 64-byte signature of content that starts with the name of its purpose."""
        return self._signer().sign(content)

    def _signer(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self._key.reveal())

    def __repr__(self) -> str:
        return f"Identity(public_key={self.public_key.hex()[:16]}…)"


@dataclass(frozen=True, slots=True)
class AllowList:
    """The public keys of everyone enrolled. Whoever writes this list decides who is a client.

    Raises:
        ConfigurationError: for a key of the wrong size or one that two clients share.
    """

    keys: Mapping[ClientId, bytes]
    digest: bytes = field(init=False)

    def __post_init__(self) -> None:
        if not all(len(key) == _KEY_BYTES for key in self.keys.values()):
            raise ConfigurationError(f"identities must be {_KEY_BYTES}-byte Ed25519 keys; got another size.")
        if len(set(self.keys.values())) != len(self.keys):
            raise ConfigurationError("identities must be distinct; two clients share one.")
        frozen = dict(sorted(self.keys.items()))
        body = b"".join(counted(client.encode()) + key for client, key in frozen.items())
        object.__setattr__(self, "keys", MappingProxyType(frozen))
        object.__setattr__(self, "digest", hashlib.sha256(b"discreet/secagg/v1/identities" + body).digest())

    def verify(self, client: ClientId, content: bytes, signature: bytes) -> None:
        """Checks a signature.

        Raises:
            PeerProtocolError: if the client is not enrolled or did not sign this content.
        """
        if client not in self.keys:
            raise PeerProtocolError(AbortCode.UNKNOWN_CLIENT, f"{client!r} must be enrolled; it is not.")
        try:
            Ed25519PublicKey.from_public_bytes(self.keys[client]).verify(signature, content)
        except InvalidSignature as error:
            raise PeerProtocolError(
                AbortCode.BAD_SIGNATURE,
                f"{client!r} must sign with its enrolled identity; the signature is wrong.",
            ) from error
