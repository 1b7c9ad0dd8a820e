"""What every hash, signature and key of the protocol is bound to: one labelled function a purpose.

A value that two parties disagree on changes a digest below, so their masks no longer cancel, their boxes no
longer open and their signatures no longer verify: disagreement ends in an abort or in noise, never in a leak.
"""

from __future__ import annotations

import hashlib

from discreet.secagg.agreement import Agreement
from discreet.secagg.messages import Advertise, Choices, KeyList, RoundStart
from discreet.secagg.modes import Mode
from discreet.secagg.wire import counted, index_set, number, uint

_LABEL = b"discreet/secagg/v1/"


def _hash(purpose: bytes, *parts: bytes) -> bytes:
    """Hashes parts injectively under the label of a purpose."""
    return hashlib.sha256(counted(_LABEL + purpose) + b"".join(counted(part) for part in parts)).digest()


def advertised_content(agreement: Agreement, epoch: int, offer: Advertise) -> bytes:
    """Returns what a client signs when it offers its keys."""
    # Terms and epoch with the keys: an offer of an earlier epoch, whose keys may be known by now, is none.
    return _LABEL + b"advertise" + agreement.digest + uint(epoch, 4) + offer.unsigned_body()


def commitment(agreement: Agreement, seed: bytes, *, epoch: int, client: int, slot: int) -> bytes:
    """Returns the public commitment to a seed; hiding because seeds have 256 random bits."""
    # With its place in the hash, nobody can pass somebody else's commitment off as its own. The last number
    # is that of the seed in its slot, which has no other.
    place = uint(epoch, 4) + number(client) + uint(slot, 4) + uint(0, 4)
    return _hash(b"commitment", agreement.digest, place, seed)


def keys_digest(agreement: Agreement, epoch: int, keys: KeyList) -> bytes:
    """Returns the hash of all keys on offer in an epoch."""
    return _hash(b"keys", agreement.digest, uint(epoch, 4), keys.body())


def paths_digest(agreement: Agreement, epoch: int, members: tuple[int, ...], root: bytes) -> bytes:
    """Returns the hash of all keys on offer in an epoch, where clients know them by their root."""
    # Members too: who was told of others would compute other neighbours (ADR 45).
    return _hash(b"key-root", agreement.digest, uint(epoch, 4), index_set(members), root)


def graph_digest(digest_of_keys: bytes, choices: Choices) -> bytes:
    """Returns the hash of all keys and of all draws made among them."""
    return _hash(b"graph", digest_of_keys, choices.body())


def share_context(digest_of_setup: bytes, sender: int, receiver: int) -> bytes:
    """Returns what a sealed box of shares is bound to; keys differ by epoch, so the epoch is in.

    The digest of the setup is that of the keys, or of keys and draws where clients choose their neighbours.
    """
    return _hash(b"shares", digest_of_setup, number(sender), number(receiver))


def round_digest(digest_of_setup: bytes, sharers: tuple[int, ...], start: RoundStart) -> bytes:
    """Returns the hash of everything that the masks of one round depend on."""
    # The sharers too: clients that were told of different ones must not mask together (ADR 43).
    return _hash(b"round", digest_of_setup, index_set(sharers), start.body())


def pair_purpose(one: int, other: int) -> bytes:
    """Returns the purpose of a pairwise mask key; the same for both ends."""
    return _LABEL + b"pair-mask" + number(min(one, other)) + number(max(one, other))


def self_purpose(client: int) -> bytes:
    """Returns the purpose of a self mask key."""
    return _LABEL + b"self-mask" + number(client)


CHANNEL_PURPOSE = _LABEL + b"channel"


def confirmed_content(digest_of_round: bytes, survivors: tuple[int, ...]) -> bytes:
    """Returns what a client signs when it is shown a survivor set."""
    return _LABEL + b"confirm" + digest_of_round + index_set(survivors)


def input_content(mode: Mode, digest_of_round: bytes, roster: tuple[int, ...]) -> bytes:
    """Returns what a client signs together with its masked input; nothing where the mode asks for nothing."""
    if mode.consents:
        return confirmed_content(digest_of_round, roster)
    # Another label than `confirm`: signatures that come with sparse inputs must never confirm the roster.
    return _LABEL + b"masked" + digest_of_round if mode.attests else b""


def transcript_hash(digest_of_round: bytes, survivors: tuple[int, ...]) -> bytes:
    """Returns the hash that names the outcome of a round."""
    return _hash(b"outcome", digest_of_round, index_set(survivors))
