"""Key agreement, key derivation and sealed boxes: X25519, HKDF-SHA256 and AES-256-GCM.

RFC 7748, RFC 5869 and NIST SP 800-38D. Every derived key names its purpose and the digest of the context in
which it is valid, so a key made for one session, epoch, round or pair never fits another.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from discreet.errors import PeerProtocolError
from discreet.randomness import RandomSource
from discreet.secagg.codes import AbortCode
from discreet.secagg.hazmat.secret import Secret

KEY_BYTES = 32
TAG_BYTES = 16
# Fixed, because every key seals one message in its life. A second one would show the XOR of both and let tags
# be forged (NIST SP 800-38D).
_NONCE = bytes(12)
_FIELD = 2**255 - 19


def generate(randomness: RandomSource) -> Secret:
    """Draws an X25519 private key."""
    return Secret(randomness.random_bytes(KEY_BYTES))


def public_key(private: Secret) -> bytes:
    """Returns the 32-byte public key of an X25519 private key."""
    return X25519PrivateKey.from_private_bytes(private.reveal()).public_key().public_bytes_raw()


def is_canonical(public: bytes) -> bool:
    """Says whether a public key is the only writing of its point: X25519 ignores bit 255 and reduces."""
    return int.from_bytes(public, "little") < _FIELD


def agree(private: Secret, peers: Mapping[int, bytes]) -> dict[int, Secret]:
    """Returns the X25519 secrets that a private key shares with every peer's public key.

    Raises:
        PeerProtocolError: if a peer's key is a point of low order, for which the result is constant.
    """
    own = X25519PrivateKey.from_private_bytes(private.reveal())
    agreed = {}
    for peer, public in peers.items():
        try:
            agreed[peer] = Secret(own.exchange(X25519PublicKey.from_public_bytes(public)))
        # A point of low order makes the shared secret zero, which everybody knows (RFC 7748, section 6.1).
        except ValueError as error:
            raise PeerProtocolError(
                AbortCode.WEAK_KEY,
                f"public keys must be points of large order; that of client {peer} is not.",
            ) from error
    return agreed


def derive(secret: Secret, context: bytes, purpose: bytes) -> bytes:
    """Derives a 32-byte key that is valid for one purpose in one context (HKDF: salt and info)."""
    # RFC 5869, sections 2.2 and 2.3: a key as long as the hash takes one step of each. The object of
    # `cryptography` that does the same takes ten times as long.
    extracted = hmac.digest(context, secret.reveal(), "sha256")
    return hmac.digest(extracted, purpose + b"\x01", "sha256")


def seal(key: bytes, plaintext: bytes, associated: bytes) -> bytes:
    """Encrypts and authenticates one message under a key that seals nothing else (so the nonce is fixed)."""
    return AESGCM(key).encrypt(_NONCE, plaintext, associated)


def open_sealed(key: bytes, sealed: bytes, associated: bytes) -> bytes:
    """Opens what `seal` made with the same key and associated data.

    Raises:
        PeerProtocolError: if key, ciphertext or associated data differ.
    """
    try:
        return AESGCM(key).decrypt(_NONCE, sealed, associated)
    except (InvalidTag, ValueError) as error:
        raise PeerProtocolError(
            AbortCode.BAD_CIPHERTEXT,
            "sealed shares must open for their sender, receiver, session and epoch; one does not.",
        ) from error
