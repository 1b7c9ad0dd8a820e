"""What a client does in a round: check the invitation, mask, check the survivors, release shares."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import NotEnoughSurvivors, PeerProtocolError
from discreet.secagg import binding
from discreet.secagg.agreement import SECRET_BYTES, Agreement
from discreet.secagg.client.setup import Place, SlotSecrets
from discreet.secagg.codes import AbortCode
from discreet.secagg.hazmat import keys as keyring
from discreet.secagg.hazmat.prg import add_masks
from discreet.secagg.hazmat.secret import Secret
from discreet.secagg.messages import ConfirmSet, RoundStart, SurvivorSet, UnmaskShares
from discreet.secagg.modes import confirm_quorum
from discreet.secagg.ring import RingVector, reduce_words


@dataclass(frozen=True, slots=True)
class OpenRound:
    """A round that a client was invited to; nothing here is secret."""

    start: RoundStart
    digest: bytes

    @property
    def roster(self) -> frozenset[int]:
        """Everyone invited."""
        return frozenset(self.start.roster)


def check_start(agreement: Agreement, me: int, sharers: tuple[int, ...], start: RoundStart) -> None:
    """Checks an invitation: a slot that exists, a roster of sharers that holds us and the floor.

    Raises:
        PeerProtocolError: for a roster or slot outside the setup.
        NotEnoughSurvivors: for a roster below the floor.
    """
    if not start.slot < agreement.rounds_per_setup:
        raise PeerProtocolError(
            AbortCode.REPLAYED,
            f"slots go up to {agreement.rounds_per_setup - 1} in this setup; got {start.slot}.",
        )
    roster = frozenset(start.roster)
    if not (me in roster and roster <= frozenset(sharers)):
        raise PeerProtocolError(
            AbortCode.UNKNOWN_CLIENT, "a roster must include us and only clients that shared; it does not."
        )
    agreement.require_floor(len(roster), "been invited")


def mask(
    agreement: Agreement,
    place: Place,
    current: OpenRound,
    secrets: SlotSecrets,
    vector: RingVector,
    *,
    threads: int,
) -> None:
    """Covers an input with all masks of this round (and adds the removable noise, if agreed), in place."""
    if agreement.noise is not None:
        for component, seed in enumerate(secrets.seeds[1:], start=1):
            noise = agreement.noise.expand(seed.reveal(), component, len(vector))
            vector += noise.astype(vector.dtype)
    slot, peers = current.start.slot, sorted(place.graph.maskers & current.roster)
    agreed = keyring.agree(secrets.mask_key, {peer: place.offers[peer].mask_keys[slot] for peer in peers})
    plus: list[bytes] = []
    minus: list[bytes] = []
    for peer in peers:
        key = keyring.derive(agreed[peer], current.digest, binding.pair_purpose(place.me, peer))
        (plus if place.me < peer else minus).append(key)
    if agreement.mode.double_masks:
        plus.append(keyring.derive(secrets.seeds[0], current.digest, binding.self_purpose(place.me)))
    add_masks(vector, plus, minus, threads=threads)
    reduce_words(vector, agreement.terms.bits)


def check_survivors(agreement: Agreement, me: int, current: OpenRound, shown: SurvivorSet) -> None:
    """Checks the survivor set before it is signed or acted upon.

    Raises:
        PeerProtocolError: if we are declared gone, someone was never invited, or, in modes that ask for it,
            did not sign this very round.
        NotEnoughSurvivors: if it is below the floor.
    """
    survivors = shown.survivors
    if me not in survivors:
        raise PeerProtocolError(
            AbortCode.SELF_DEAD, "a survivor set that reaches us must hold us; we are declared gone in it."
        )
    if not frozenset(survivors) <= current.roster:
        raise PeerProtocolError(AbortCode.UNKNOWN_CLIENT, "survivors must have been invited; one was not.")
    agreement.require_floor(len(survivors), "sent their masked input")
    attesting = survivors if agreement.mode.attests else ()
    if tuple(signer for signer, _ in shown.attested) != attesting:
        raise PeerProtocolError(
            AbortCode.NOT_CONFIRMED,
            f"{len(attesting)} survivors must show that they masked for this round; "
            f"got {len(shown.attested)} signatures. Nothing was released.",
        )
    content = binding.input_content(agreement.mode, current.digest, current.start.roster)
    for signer, signature in shown.attested:
        agreement.identities.verify(agreement.name(signer), content, signature)


def check_confirmations(
    agreement: Agreement, current: OpenRound, survivors: tuple[int, ...], confirmations: ConfirmSet
) -> None:
    """Checks that enough survivors signed the very survivor set that we were shown.

    Guarantee:
        At most one set besides the whole roster can pass in a round, as ``2 quorum > clients +
        max_colluding`` and an honest client signs one such set. Where clients consent to the whole roster
        beforehand, both may pass; docs/adr/0042 says why one of them at most is then unmasked.

    Raises:
        PeerProtocolError: for a signature on anything else.
        NotEnoughSurvivors: for too few of them.
    """
    content = binding.confirmed_content(current.digest, survivors)
    for signer, signature in confirmations.signatures:
        if signer not in survivors:
            raise PeerProtocolError(
                AbortCode.UNKNOWN_CLIENT,
                f"confirmations must come from survivors; got one of client {signer}.",
            )
        agreement.identities.verify(agreement.name(signer), content, signature)
    terms = agreement.terms
    quorum = confirm_quorum(len(terms.clients), terms.max_colluding)
    if not len(confirmations.signatures) >= quorum:
        raise NotEnoughSurvivors(
            AbortCode.NOT_CONFIRMED,
            f"the survivor set must be confirmed by {quorum} clients; got {len(confirmations.signatures)}. "
            "Nothing was released.",
        )


def release(
    agreement: Agreement, current: OpenRound, survivors: tuple[int, ...], held: dict[int, Secret]
) -> UnmaskShares:
    """Releases, for every invited peer whose shares we hold, one kind of share and never the other.

    A survivor's self seed (and excess noise seeds) come off the sum; a dropout's mask key takes its pairwise
    masks off the others.
    """
    seeds = agreement.released_seeds(len(survivors))
    shares = []
    for peer in sorted(held.keys() & current.roster):
        share = held[peer].reveal()
        parts = [seed + 1 for seed in seeds] if peer in survivors else [0]
        shares.append(
            (peer, b"".join(share[part * SECRET_BYTES : (part + 1) * SECRET_BYTES] for part in parts))
        )
    return UnmaskShares(current.digest, tuple(item for item in shares if item[1]))
