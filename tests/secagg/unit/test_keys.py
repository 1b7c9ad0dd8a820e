"""Key agreement, derivation, sealing and signing against the RFCs, and what they refuse."""

from __future__ import annotations

import pytest

from discreet.errors import ConfigurationError, PeerProtocolError
from discreet.randomness import SeededRandom
from discreet.secagg import AllowList, Identity
from discreet.secagg.hazmat import keys as keyring
from discreet.secagg.hazmat.secret import Secret

# RFC 7748, section 6.1: Bob's private key, both public keys, the shared secret.
BOB = Secret(bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"))
BOB_PUBLIC = "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"
ALICE_PUBLIC = "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"
SHARED = "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"


def test_x25519_of_rfc_7748() -> None:
    assert keyring.public_key(BOB).hex() == BOB_PUBLIC
    assert keyring.agree(BOB, {3: bytes.fromhex(ALICE_PUBLIC)})[3].reveal().hex() == SHARED


def test_hkdf_of_rfc_5869() -> None:
    """Appendix A.1, test case 1 (SHA-256), its first 32 bytes of output."""
    secret = Secret(b"\x0b" * 22)
    derived = keyring.derive(secret, bytes(range(13)), bytes(range(0xF0, 0xFA)))
    assert derived.hex() == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"


def test_ed25519_of_rfc_8032() -> None:
    """Section 7.1, test 1: the empty message."""
    identity = Identity(
        Secret(bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"))
    )
    assert identity.public_key.hex() == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    assert identity.sign(b"").hex() == (
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
        "d25bf5f0595bbe24655141438e7a100b"
    )
    AllowList({"one": identity.public_key}).verify("one", b"", identity.sign(b""))


# Points of order 1, 2, 4 and 8 on Curve25519 and its twist, and non-canonical forms (RFC 7748, section 7).
LOW_ORDER = [
    bytes(32),
    bytes([1]) + bytes(31),
    (2**255 - 19).to_bytes(32, "little"),
    (2**255 - 20).to_bytes(32, "little"),
    bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
    bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
]


@pytest.mark.parametrize("point", LOW_ORDER, ids=lambda point: point.hex()[:8])
def test_points_of_low_order_are_refused(point: bytes) -> None:
    with pytest.raises(PeerProtocolError, match="client 2") as caught:
        keyring.agree(BOB, {2: point})
    assert caught.value.code == "weak-key"


def test_a_point_has_one_canonical_writing() -> None:
    prime = 2**255 - 19
    for number in (0, 9, prime - 1):
        assert keyring.is_canonical(number.to_bytes(32, "little"))
    for number in (prime, prime + 9, 2**255 - 1, 9 | 1 << 255):
        other = number.to_bytes(32, "little")
        assert not keyring.is_canonical(other)
        canonical = (number % 2**255 % prime).to_bytes(32, "little")
        if any(canonical):
            assert (
                keyring.agree(BOB, {1: other})[1].reveal() == keyring.agree(BOB, {1: canonical})[1].reveal()
            )


def test_boxes_open_only_with_their_key_and_context() -> None:
    sealed = keyring.seal(bytes(32), b"shares", b"context")
    assert keyring.open_sealed(bytes(32), sealed, b"context") == b"shares"
    wrong = [
        (b"\1" * 32, sealed, b"context"),
        (bytes(32), sealed, b"other"),
        (bytes(32), sealed[:-1], b"context"),
    ]
    for key, box, context in [*wrong, (bytes(32), b"", b"context")]:
        with pytest.raises(PeerProtocolError) as caught:
            keyring.open_sealed(key, box, context)
        assert caught.value.code == "bad-ciphertext"


def test_every_purpose_and_context_gives_its_own_key() -> None:
    secret = Secret(bytes(32))
    found = {keyring.derive(secret, context, purpose) for context in (b"a", b"b") for purpose in (b"x", b"y")}
    assert len(found) == 4


def test_secrets_can_only_be_revealed() -> None:
    secret = Secret(b"s" * 32)
    assert repr(secret) == "Secret(<32 bytes hidden>)"
    with pytest.raises(TypeError, match="compared"):
        assert secret == secret  # noqa: PLR0124 - the comparison itself is what must fail
    with pytest.raises(TypeError):
        hash(secret)
    secret.wipe()
    with pytest.raises(ValueError, match="wiped"):
        secret.reveal()


def test_identities_and_allow_lists() -> None:
    one, two = (Identity.generate(SeededRandom(seed)) for seed in (1, 2))
    assert one.public_key.hex()[:16] in repr(one)
    allow_list = AllowList({"b": two.public_key, "a": one.public_key})
    assert allow_list.digest == AllowList({"a": one.public_key, "b": two.public_key}).digest
    with pytest.raises(PeerProtocolError, match="signature is wrong"):
        allow_list.verify("a", b"content", two.sign(b"content"))
    with pytest.raises(PeerProtocolError, match="enrolled"):
        allow_list.verify("c", b"content", two.sign(b"content"))
    with pytest.raises(ConfigurationError, match="32-byte"):
        AllowList({"a": b"short"})
