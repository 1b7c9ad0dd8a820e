"""The graph that clients draw: how a draw is checked, by clients and server alike, and who is near whom."""

from __future__ import annotations

from collections.abc import Mapping, Set

from discreet.errors import PeerProtocolError
from discreet.secagg.codes import AbortCode
from discreet.secagg.graph import ChosenGraph, Neighborhood


def check_draw(rule: ChosenGraph, offered: Set[int], drawer: int, drawn: tuple[int, ...]) -> None:
    """Checks one draw: the agreed number of others, all of them on the key list.

    Raises:
        PeerProtocolError: code ``bad-graph``, for anything else.
    """
    agreed = min(rule.degree, len(offered) - 1)
    if not (drawer in offered and drawer not in drawn and offered >= set(drawn) and len(drawn) == agreed):
        raise PeerProtocolError(
            AbortCode.BAD_GRAPH,
            f"a client must draw {agreed} others from the key list; client {drawer} did not.",
        )


def neighborhood(draws: Mapping[int, tuple[int, ...]], me: int) -> Neighborhood:
    """Returns the place of one client that drew: what `neighborhoods` says of it, in less time."""
    return _place(draws, me, {drawer for drawer, drawn in draws.items() if me in drawn})


def neighborhoods(draws: Mapping[int, tuple[int, ...]]) -> dict[int, Neighborhood]:
    """Returns the place of everyone who drew; whoever is drawn and did not draw is in no place."""
    owners: dict[int, set[int]] = {index: set() for index in draws}
    for drawer, drawn in draws.items():
        # Nobody knows the view of a client that did not draw (ADR 43).
        for index in draws.keys() & drawn:
            owners[index].add(drawer)
    return {index: _place(draws, index, owners[index]) for index in draws}


def _place(draws: Mapping[int, tuple[int, ...]], index: int, owners: set[int]) -> Neighborhood:
    """Returns a place by who drew it."""
    # Choosers get masks but no shares: else colluders would all choose their victim and hold a threshold of
    # its shares (ADR 41).
    holders = frozenset(draws[index]).intersection(draws)
    return Neighborhood(holders | owners, holders, frozenset(owners))
