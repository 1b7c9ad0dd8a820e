"""What a client does once per epoch: offer keys, share its secrets, keep others' shares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.errors import NotEnoughSurvivors, PeerProtocolError
from discreet.randomness import RandomSource
from discreet.secagg import binding
from discreet.secagg.agreement import SECRET_BYTES, Agreement
from discreet.secagg.codes import AbortCode
from discreet.secagg.graph import Neighborhood
from discreet.secagg.hazmat import keys as keyring
from discreet.secagg.hazmat import shamir
from discreet.secagg.hazmat.secret import Secret
from discreet.secagg.identity import Identity
from discreet.secagg.messages import Advertise, DeliveredShares, SealedShares
from discreet.secagg.wire import as_set


@dataclass(frozen=True, slots=True)
class SlotSecrets:
    """What masks one round: a private mask key, and the self seed in modes that mask twice."""

    mask_key: Secret
    seeds: tuple[Secret, ...]

    def joined(self) -> bytes:
        """Returns all secrets in the order in which they are shared."""
        return b"".join(secret.reveal() for secret in (self.mask_key, *self.seeds))

    def wipe(self) -> None:
        """Forgets them."""
        for secret in (self.mask_key, *self.seeds):
            secret.wipe()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a client stands in an epoch, as it sees it; nothing here is secret.

    Attributes:
        me: its number.
        epoch: the number of this setup within the session.
        offers: the keys that it was shown, by number: everyone's, or its own and its neighbours'.
        members: who may share secrets: everyone with keys, or with a draw where clients draw neighbours.
        setup_digest: hash of all keys, and of all draws.
        graph: with whom it shares and masks.
    """

    me: int
    epoch: int
    offers: dict[int, Advertise]
    members: tuple[int, ...]
    setup_digest: bytes
    graph: Neighborhood


def draw_slots(agreement: Agreement, randomness: RandomSource) -> list[SlotSecrets]:
    """Draws fresh secrets for every slot."""
    return [
        SlotSecrets(
            # Drawn one by one, never derived from each other: what one round reveals opens no other (ADR 40).
            keyring.generate(randomness),
            tuple(Secret(randomness.random_bytes(SECRET_BYTES)) for _ in range(agreement.num_seeds)),
        )
        for _ in range(agreement.rounds_per_setup)
    ]


def offer_keys(
    agreement: Agreement,
    identity: Identity,
    channel: Secret,
    slots: list[SlotSecrets],
    *,
    epoch: int,
    me: int,
) -> Advertise:
    """Makes the signed advertisement of a client's public keys and commitments."""
    # Shares alone do not say what was shared. A commitment, made before anybody holds one, tells a true seed
    # from a forged one.
    commitments = tuple(
        binding.commitment(agreement, seed.reveal(), epoch=epoch, client=me, slot=slot)
        for slot, secrets in enumerate(slots)
        for seed in secrets.seeds
    )
    mask_keys = tuple(keyring.public_key(secrets.mask_key) for secrets in slots)
    unsigned = Advertise(me, keyring.public_key(channel), mask_keys, commitments, signature=b"")
    # Unsigned, a server in the middle would offer keys of its own in everybody's name and read all shares
    # (Bonawitz et al. 2017, section 6: why clients need a PKI).
    signature = identity.sign(binding.advertised_content(agreement, epoch, unsigned))
    return Advertise(me, unsigned.channel_key, mask_keys, commitments, signature)


def require_holders(agreement: Agreement, holders: frozenset[int]) -> None:
    """Refuses holders who are too few to ever recover our secrets."""
    if not len(holders) >= agreement.terms.threshold:
        raise NotEnoughSurvivors(
            AbortCode.TOO_FEW,
            f"our shares need threshold={agreement.terms.threshold} holders; got {len(holders)}.",
        )


def open_channels(place: Place, channel: Secret) -> dict[int, Secret]:
    """Agrees on a secret with everyone to whom or from whom shares will go."""
    peers = sorted((place.graph.holders | place.graph.owners) - {place.me})
    return keyring.agree(channel, {peer: place.offers[peer].channel_key for peer in peers})


def deal(
    agreement: Agreement,
    place: Place,
    channels: dict[int, Secret],
    slots: list[SlotSecrets],
    randomness: RandomSource,
) -> tuple[SealedShares, Secret]:
    """Shares all slots among our holders.

    Returns:
        The sealed boxes, and our own shares (empty where we hold none of our own).
    """
    holders = sorted(place.graph.holders)
    secrets = shamir.to_symbols(b"".join(secret.joined() for secret in slots))
    # By their places among the holders, since a field has fewer points than there may be clients. At point 0
    # lies the secret itself.
    points = np.arange(1, len(holders) + 1, dtype=np.uint16)
    shares = shamir.share(secrets, points, agreement.terms.threshold, randomness)
    by_holder = dict(zip(holders, map(shamir.to_bytes, shares), strict=True))
    boxes = []
    for receiver in (holder for holder in holders if holder != place.me):
        # Sender, receiver and epoch are in key and tag: a box that the server hands to somebody else, or
        # keeps for another epoch, does not open (Bonawitz et al. 2017, round 1).
        context = binding.share_context(place.setup_digest, place.me, receiver)
        key = keyring.derive(channels[receiver], context, binding.CHANNEL_PURPOSE)
        boxes.append((receiver, keyring.seal(key, by_holder[receiver], context)))
    # Our own share does not pass through the server.
    return SealedShares(tuple(boxes)), Secret(by_holder.get(place.me, b""))


def open_delivered(
    agreement: Agreement, place: Place, channels: dict[int, Secret], delivered: DeliveredShares
) -> dict[int, Secret]:
    """Opens the boxes of everyone who shared with us.

    Raises:
        PeerProtocolError: for strangers, missing or extra boxes, and boxes that do not open.
        NotEnoughSurvivors: if too few clients shared.
    """
    sharers = as_set(delivered.sharers)
    # Rosters are compared with this set: a stranger in it could be counted towards the floor later.
    if not (place.me in sharers and sharers.issubset(place.members)):
        raise PeerProtocolError(
            AbortCode.UNKNOWN_CLIENT,
            "the sharers must include us and only clients of this setup; they do not.",
        )
    agreement.require_floor(len(sharers), "shared their secrets")
    # Only sharers are ever invited, so only they will be there to release our shares.
    require_holders(agreement, place.graph.holders & sharers)
    # A box that is missing now is a share that is missing once its owner drops out, when masked inputs are
    # already out.
    if {sender for sender, _ in delivered.boxes} != (place.graph.owners & sharers) - {place.me}:
        raise PeerProtocolError(
            AbortCode.UNKNOWN_CLIENT, "boxes must come from exactly those who share with us; they do not."
        )
    opened = {}
    for sender, box in delivered.boxes:
        context = binding.share_context(place.setup_digest, sender, place.me)
        key = keyring.derive(channels[sender], context, binding.CHANNEL_PURPOSE)
        shares = keyring.open_sealed(key, box, context)
        # Who deals too few bytes leaves late slots without shares; better known now than in their round.
        if len(shares) != agreement.rounds_per_setup * agreement.slot_bytes:
            raise PeerProtocolError(
                AbortCode.MALFORMED,
                f"{agreement.name(sender)!r} must share every secret of every round; it did not.",
            )
        opened[sender] = Secret(shares)
    return opened
