"""Builds a round on a sparse graph up to the point where the server takes off the masks, without sessions."""

from __future__ import annotations

import numpy as np

from discreet.randomness import SeededRandom
from discreet.secagg import AllowList, Identity, RoundTerms, SumTerms
from discreet.secagg.agreement import SECRET_BYTES, Agreement
from discreet.secagg.client.setup import SlotSecrets, draw_slots, offer_keys
from discreet.secagg.graph import ChosenGraph, GraphRule, HararyGraph
from discreet.secagg.hazmat import keys as keyring
from discreet.secagg.hazmat import shamir
from discreet.secagg.messages import NeighborChoice, RoundStart
from discreet.secagg.modes import Mode
from discreet.secagg.server.rounds import ServerRound
from discreet.secagg.server.setup import ServerSetup


def sparse_agreement(terms: SumTerms, mode: Mode, graph: GraphRule) -> Agreement:
    """Returns an agreement on a given graph."""
    keys = {name: identity_of(name).public_key for name in terms.clients}
    return Agreement(terms, mode, graph, 1, AllowList(keys))


def identity_of(name: str) -> Identity:
    """Returns the signing key of a client of this benchmark."""
    return Identity.generate(SeededRandom(3).derive(name))


def released_round(agreement: Agreement, dropped: int) -> ServerRound:
    """Returns a round in which the first ``dropped`` clients are gone and all due shares are released."""
    source, terms = SeededRandom(1), agreement.terms
    setup = ServerSetup(agreement, 1)
    secrets = [draw_slots(agreement, source)[0] for _ in terms.clients]
    for index, name in enumerate(terms.clients):
        channel = keyring.generate(source)
        setup.offers[index] = offer_keys(
            agreement, identity_of(name), channel, [secrets[index]], epoch=1, me=index
        )
    if isinstance(agreement.graph, HararyGraph):
        setup.key_paths(agreement.graph)
    else:
        setup.key_list()
    if isinstance(agreement.graph, ChosenGraph):
        draw_neighbors(agreement, setup, source)
    setup.boxes = {index: {} for index in range(len(terms.clients))}
    start = RoundStart(RoundTerms(0, 0, bytes(32)), 0, setup.sharers)
    current = ServerRound.begin(agreement, setup, start)
    current.arrived = set(range(dropped, len(terms.clients)))
    for owner, slot in enumerate(secrets):
        current.released[owner] = released_shares(agreement, current, owner, slot, source)
    return current


def draw_neighbors(agreement: Agreement, setup: ServerSetup, source: SeededRandom) -> None:
    members, graph = list(setup.offers), agreement.graph
    assert isinstance(graph, ChosenGraph)  # noqa: S101 (the only rule by which neighbours are drawn)
    for index in members:
        others = [member for member in members if member != index]
        order = source.permutation(len(others))[: graph.degree]
        setup.add_choice(index, NeighborChoice(tuple(sorted(others[at] for at in order))))
    setup.all_choices()


def released_shares(
    agreement: Agreement, current: ServerRound, owner: int, slot: SlotSecrets, source: SeededRandom
) -> dict[int, bytes]:
    """Shares one client's secrets; its surviving holders release the kind that is due."""
    holders = sorted(current.setup.graph[owner].holders)
    points = np.arange(1, len(holders) + 1, dtype=np.uint16)
    rows = shamir.share(shamir.to_symbols(slot.joined()), points, agreement.terms.threshold, source)
    first = SECRET_BYTES if owner in current.arrived else 0
    return {
        holder: shamir.to_bytes(row)[first : first + SECRET_BYTES]
        for holder, row in zip(holders, rows, strict=True)
        if holder in current.arrived
    }
