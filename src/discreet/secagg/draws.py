"""The graph that clients draw: how a draw is checked, by clients and server alike, and who is near whom."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from discreet.errors import PeerProtocolError
from discreet.secagg.codes import AbortCode
from discreet.secagg.graph import ChosenGraph, Neighborhood


def check_draw(rule: ChosenGraph, offered: Collection[int], drawer: int, drawn: tuple[int, ...]) -> None:
    """Checks one draw: the agreed number of others, all of them on the key list.

    Raises:
        PeerProtocolError: code ``bad-graph``, for anything else.
    """
    others = frozenset(offered) - {drawer}
    agreed = min(rule.degree, len(others))
    if not (drawer in offered and others.issuperset(drawn) and len(drawn) == agreed):
        raise PeerProtocolError(
            AbortCode.BAD_GRAPH,
            f"a client must draw {agreed} others from the key list; client {drawer} did not.",
        )


def neighborhoods(draws: Mapping[int, tuple[int, ...]]) -> dict[int, Neighborhood]:
    """Returns the place of everyone who drew; whoever is drawn and did not draw is in no place."""
    owners: dict[int, set[int]] = {index: set() for index in draws}
    for drawer, drawn in draws.items():
        # Nobody knows the view of a client that did not draw (ADR 43).
        for index in draws.keys() & drawn:
            owners[index].add(drawer)
    places = {}
    for index, drawn in draws.items():
        # Choosers get masks but no shares: else colluders would all choose their victim and hold a threshold
        # of its shares (ADR 41).
        holders = frozenset(drawn).intersection(draws)
        places[index] = Neighborhood(holders | owners[index], holders, frozenset(owners[index]))
    return places
