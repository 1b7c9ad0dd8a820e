"""Who is enrolled: the silos' public keys, numbered and signed by the consortium (Ed25519, RFC 8032).

A silo knows the consortium's public key from its own policy, so a server cannot enrol anyone. Rotation is a
new list with a higher ``serial``; a silo that has seen a list never accepts an older one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from discreet.documents import read_json
from discreet.errors import ConfigurationError
from discreet.privacy.typed import build
from discreet.privacy.wire import canonical
from discreet.secagg import AllowList, Identity
from discreet.silo.policy.refusal import PolicyRefusal, RefusalCode

_PURPOSE = b"discreet/consortium/v1/allow-list"


@dataclass(frozen=True, slots=True)
class SignedAllowList:
    """An allow-list with the consortium's signature.

    Attributes:
        serial: grows with every change.
        silos: name to public key in hexadecimal.
        signature: over serial and silos, in hexadecimal.
    """

    serial: int
    silos: Mapping[str, str]
    signature: str

    def serialise(self) -> bytes:
        """Returns the document that travels and is stored."""
        return canonical({"serial": self.serial, "silos": dict(self.silos), "signature": self.signature})

    @classmethod
    def parse(cls, document: bytes) -> Self:
        """Reads a document; the signature is not yet checked.

        Raises:
            PolicyRefusal: if it is no allow-list.
        """
        try:
            return build(cls, read_json(document))
        except ValueError:
            raise PolicyRefusal(
                RefusalCode.IDENTITY, "the allow-list must be a signed list of silos; it cannot be read."
            ) from None

    def verified(self, consortium_key: bytes) -> AllowList:
        """Returns the keys once the consortium's signature has been checked.

        Raises:
            PolicyRefusal: if the signature, or a key, is not valid.
        """
        try:
            signature = bytes.fromhex(self.signature)
            Ed25519PublicKey.from_public_bytes(consortium_key).verify(
                signature, _signed(self.serial, self.silos)
            )
            return AllowList({name: bytes.fromhex(key) for name, key in self.silos.items()})
        except InvalidSignature:
            raise PolicyRefusal(
                RefusalCode.IDENTITY,
                "the allow-list must be signed by the consortium of the policy; the signature is wrong.",
            ) from None
        except (ValueError, ConfigurationError):
            raise PolicyRefusal(
                RefusalCode.IDENTITY, "the allow-list must hold one distinct Ed25519 key for each silo."
            ) from None


@dataclass(frozen=True, slots=True)
class Consortium:
    """Who signs allow-lists. Its key never needs to be on the aggregation server."""

    identity: Identity

    @property
    def public_key(self) -> bytes:
        """What every policy names."""
        return self.identity.public_key

    def sign(self, silos: Mapping[str, bytes], serial: int) -> SignedAllowList:
        """Returns the signed list of ``silos``; raise ``serial`` with every change.

        Raises:
            ConfigurationError: if two silos share a key, or a key has another size.
        """
        AllowList(silos)
        keys = {name: key.hex() for name, key in silos.items()}
        return SignedAllowList(serial, keys, self.identity.sign(_signed(serial, keys)).hex())


def _signed(serial: int, silos: Mapping[str, str]) -> bytes:
    """Returns what the consortium signs."""
    return _PURPOSE + canonical({"serial": serial, "silos": dict(silos)})
