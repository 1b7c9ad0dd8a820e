"""How an advertisement of keys is checked, by every client and by the server alike."""

from __future__ import annotations

from discreet.errors import PeerProtocolError
from discreet.secagg import binding
from discreet.secagg.agreement import Agreement
from discreet.secagg.codes import AbortCode
from discreet.secagg.hazmat import keys as keyring
from discreet.secagg.messages import Advertise


def check_offer(agreement: Agreement, epoch: int, offer: Advertise) -> None:
    """Checks one advertisement: a client of the terms, the agreed sizes, the enrolled signature.

    Raises:
        PeerProtocolError: naming what is wrong.
    """
    num_clients = len(agreement.terms.clients)
    if not offer.sender < num_clients:
        raise PeerProtocolError(
            AbortCode.UNKNOWN_CLIENT, f"client numbers must be below {num_clients}; got {offer.sender}."
        )
    slots = agreement.rounds_per_setup
    if (len(offer.mask_keys), len(offer.commitments)) != (slots, slots * agreement.num_seeds):
        raise PeerProtocolError(
            AbortCode.MALFORMED,
            f"an advertisement must hold keys for {slots} rounds; got {len(offer.mask_keys)}.",
        )
    # Sizes come before this: all later steps find keys by their slot.
    content = binding.advertised_content(agreement, epoch, offer)
    agreement.identities.verify(agreement.name(offer.sender), content, offer.signature)


def add_distinct(seen: set[bytes], offer: Advertise) -> None:
    """Adds an offer's public keys and commitments to those seen.

    Raises:
        PeerProtocolError: code ``duplicate-key``, if one was seen or occurs twice; code ``weak-key``, for a
            public key that is another writing of a smaller number, and so of someone's key, perhaps. ``seen``
            then stays.
    """
    keys = (offer.channel_key, *offer.mask_keys)
    # To X25519 both writings are one key, which the comparison of bytes below would not see (attack
    # `key_in_another_writing`).
    if not all(map(keyring.is_canonical, keys)):
        raise PeerProtocolError(
            AbortCode.WEAK_KEY,
            f"public keys must be numbers below 2^255 - 19; one of client {offer.sender} is not.",
        )
    public = (*keys, *offer.commitments)
    if len(set(public)) != len(public) or not seen.isdisjoint(public):
        raise PeerProtocolError(
            AbortCode.DUPLICATE_KEY, "public keys and commitments must be distinct; one occurs twice."
        )
    seen.update(public)
