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
from discreet.secagg.wire import as_set


@dataclass(frozen=True, slots=True)
class OpenRound:
    """A round that a client was invited to; nothing here is secret."""

    start: RoundStart
    digest: bytes

    @property
    def roster(self) -> frozenset[int]:
        """Everyone invited."""
        return as_set(self.start.roster)


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
    roster = as_set(start.roster)
    # Who shared nothing cannot be unmasked when it drops out, and a stranger would lift the count over the
    # floor.
    if not (me in roster and roster <= as_set(sharers)):
        raise PeerProtocolError(
            AbortCode.UNKNOWN_CLIENT, "a roster must include us and only clients that shared; it does not."
        )
    # Not only for the survivors: with everybody's consent the whole roster is unmasked without another look
    # at its size (ADR 42, step 3).
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
    """Covers an input with all masks of this round, in place."""
    # A mask shared with somebody who is not invited would have nobody to cancel it.
    slot, peers = current.start.slot, sorted(place.graph.maskers & current.roster)
    agreed = keyring.agree(secrets.mask_key, {peer: place.offers[peer].mask_keys[slot] for peer in peers})
    plus: list[bytes] = []
    minus: list[bytes] = []
    for peer in peers:
        # The digest holds everything that ends must agree on. A server that gives one client another model,
        # to find its input in the sum, gets noise instead (Pasquini et al. 2022).
        key = keyring.derive(agreed[peer], current.digest, binding.pair_purpose(place.me, peer))
        # One end adds what the other subtracts; the numbers say who, so nobody has to ask.
        (plus if place.me < peer else minus).append(key)
    # When we are late, the others reveal our pairwise masks. This one still covers our input then (Bonawitz
    # et al. 2017, double masking).
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
    # Our input is out and our mask key would be revealed. Whoever sees that releases nothing.
    if me not in survivors:
        raise PeerProtocolError(
            AbortCode.SELF_DEAD, "a survivor set that reaches us must hold us; we are declared gone in it."
        )
    # Who was not invited masked nothing; its name would only fill the set up to the floor.
    if not as_set(survivors) <= current.roster:
        raise PeerProtocolError(AbortCode.UNKNOWN_CLIENT, "survivors must have been invited; one was not.")
    # The noise in the sum is that of the survivors, less the colluders' (docs/threat-model.md, the floor). A
    # confirmed set binds a malicious server to it as well.
    agreement.require_floor(len(survivors), "sent their masked input")
    # On a sparse graph nobody masks with everybody. Only signatures show that all in the set masked under one
    # digest; else a part of them can be opened by itself (ADR 43, step 2).
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
    content, alive = binding.confirmed_content(current.digest, survivors), as_set(survivors)
    for signer, signature in confirmations.signatures:
        # Who is not in the sum has no say in it (Bonawitz et al. 2017, round 4).
        if signer not in alive:
            raise PeerProtocolError(
                AbortCode.UNKNOWN_CLIENT,
                f"confirmations must come from survivors; got one of client {signer}.",
            )
        # On the set that we were shown: whoever was shown another one signed other bytes.
        agreement.identities.verify(agreement.name(signer), content, signature)
    terms = agreement.terms
    # Counted among all clients of the terms. Among a roster or a survivor set, two small ones could be
    # confirmed by honest clients that have nobody in common.
    quorum = confirm_quorum(len(terms.clients), terms.max_colluding)
    if not len(confirmations.signatures) >= quorum:
        raise NotEnoughSurvivors(
            AbortCode.NOT_CONFIRMED,
            f"the survivor set must be confirmed by {quorum} clients; got {len(confirmations.signatures)}. "
            "Nothing was released.",
        )


def release(current: OpenRound, survivors: tuple[int, ...], held: dict[int, Secret]) -> UnmaskShares:
    """Releases, for every invited peer whose shares we hold, one kind of share and never the other.

    A survivor's self seed comes off the sum; a dropout's mask key takes its pairwise masks off the others.
    """
    alive, shares = as_set(survivors), []
    # Nobody masked with who was not invited, so there is nothing to take off.
    for peer in sorted(current.roster.intersection(held)):
        share = held[peer].reveal()
        # With either secret one mask is left; with both the input is open (Bonawitz et al. 2017, round 4).
        kind = share[SECRET_BYTES:] if peer in alive else share[:SECRET_BYTES]
        shares.append((peer, kind))
    return UnmaskShares(current.digest, tuple(item for item in shares if item[1]))
