"""How a client checks keys before it trusts them: everybody's, or those of its neighbours under a root."""

from __future__ import annotations

from discreet.errors import PeerProtocolError
from discreet.secagg.agreement import Agreement
from discreet.secagg.client import neighborhood
from discreet.secagg.codes import AbortCode
from discreet.secagg.graph import Neighborhood
from discreet.secagg.merkle import depth, root_from
from discreet.secagg.messages import Advertise, KeyList, KeyPaths
from discreet.secagg.offers import add_distinct, check_offer


def check_key_list(agreement: Agreement, epoch: int, own: Advertise, keys: KeyList) -> None:
    """Checks everyone's keys.

    Raises:
        PeerProtocolError: for a missing or altered own key, a stranger, a bad signature or a repeated key.
        NotEnoughSurvivors: if too few clients are there.
    """
    _require_own(own, keys.entries)
    _check_offers(agreement, epoch, own, keys.entries)
    # Few keys mean few inputs: nothing is entrusted to a group that could never reach the floor.
    agreement.require_floor(len(keys.entries), "advertised keys")


def check_key_paths(
    agreement: Agreement, epoch: int, own: Advertise, keys: KeyPaths, digest: bytes
) -> Neighborhood:
    """Checks the keys of our neighbours, and that they are those to whose root everybody is bound.

    Guarantee:
        Whoever has the same ``digest``, which is that of the members and the root, has accepted the same
        keys of every client that both were shown (docs/adr/0045).

    Returns:
        Our place in the graph.

    Raises:
        PeerProtocolError: for a missing or altered own key, strangers, keys of others than our neighbours, a
            path to another root, a bad signature or a repeated key.
        NotEnoughSurvivors: if too few clients are there.
    """
    me, num_clients = own.sender, len(agreement.terms.clients)
    _require_own(own, [one.offer for one in keys.shown])
    if not (me in keys.members and keys.members[-1] < num_clients):
        raise PeerProtocolError(
            AbortCode.UNKNOWN_CLIENT,
            "those who advertised must include us and only clients of the terms; they do not.",
        )
    agreement.require_floor(len(keys.members), "advertised keys")
    # Computed, never taken from who is shown: a server would show us its own clients only.
    near = neighborhood.derive(agreement.graph, me, keys.members, digest)
    if {one.offer.sender for one in keys.shown} != near.maskers | {me}:
        raise PeerProtocolError(
            AbortCode.BAD_GRAPH, "keys must be shown of us and of exactly our neighbours; they are not."
        )
    steps = depth(num_clients)
    for one in keys.shown:
        # At the place of its own number, so that one root has one entry of a client. Another length would be
        # another place.
        reached = root_from(one.offer.body(), one.offer.sender, one.path) if len(one.path) == steps else b""
        if reached != keys.root:
            raise PeerProtocolError(
                AbortCode.BAD_PATH,
                f"{steps} hashes must lead from the keys of client {one.offer.sender} to the root; "
                "they do not.",
            )
    _check_offers(agreement, epoch, own, [one.offer for one in keys.shown])
    return near


def _require_own(own: Advertise, offers: tuple[Advertise, ...] | list[Advertise]) -> None:
    """Refuses keys among which ours are not, or not as we offered them."""
    # With another key under our name, the others would mask with the server and seal our shares for it.
    if own not in offers:
        raise PeerProtocolError(
            AbortCode.OWN_KEY, "the key list must hold our own advertisement unchanged; it does not."
        )


def _check_offers(
    agreement: Agreement, epoch: int, own: Advertise, offers: tuple[Advertise, ...] | list[Advertise]
) -> None:
    """Checks what each says, and that no public value occurs twice."""
    seen: set[bytes] = set()
    for offer in offers:
        if offer != own:
            check_offer(agreement, epoch, offer)
        # Keys of different owners must be independent; a copied one is revealed whenever its true owner drops
        # out.
        add_distinct(seen, offer)
