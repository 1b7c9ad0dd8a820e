"""How a client comes by its neighbours: computed from the keys, or drawn by itself and by others."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.errors import LocalProtocolError, PeerProtocolError
from discreet.randomness import RandomSource
from discreet.secagg.codes import AbortCode
from discreet.secagg.draws import check_draw, neighborhood
from discreet.secagg.graph import ChosenGraph, GraphRule, Neighborhood
from discreet.secagg.messages import Choices


def derive(rule: GraphRule, me: int, members: tuple[int, ...], keys_digest: bytes) -> Neighborhood:
    """Computes our place from the agreed rule, the members in order and the digest of all keys."""
    if isinstance(rule, ChosenGraph):
        raise LocalProtocolError(AbortCode.BAD_GRAPH, "neighbours must be drawn by the clients in this mode.")
    # Nobody picks a place on the circle. A server that lies could still pick among lists of keys, so this is
    # for semi-honest ones only (Bell et al. 2020, section 3).
    return rule.neighborhood(me, members, keys_digest)


def draw(rule: GraphRule, others: Sequence[int], randomness: RandomSource) -> tuple[int, ...]:
    """Draws the agreed number of neighbours among the others, without replacement."""
    # Uniform and without replacement: the bounds of `bell.parameters` are hypergeometric.
    order = randomness.permutation(len(others))
    return tuple(sorted(others[index] for index in order[: _chosen(rule).degree]))


def accept(
    rule: GraphRule, me: int, choice: tuple[int, ...], choices: Choices, offered: frozenset[int]
) -> Neighborhood:
    """Finds our place among everybody's draws.

    Raises:
        PeerProtocolError: if our own draw is missing or altered, a draw breaks the rule, or more clients drew
            us than the cap allows: a server that lets colluders pile up around one client is caught here.
    """
    draws, agreed = dict(choices.draws), _chosen(rule)
    # Our holders are ours to choose: a server that replaces them surrounds us with colluders, who pool a
    # threshold of our shares (Bell et al. 2020, section 4).
    if draws.get(me) != choice:
        raise PeerProtocolError(
            AbortCode.BAD_GRAPH, "the list of draws must hold our own draw unchanged; it does not."
        )
    for drawer, drawn in choices.draws:
        # By its form only; whether it is the one that was drawn, its drawer checks (ADR 43).
        check_draw(agreed, offered, drawer, drawn)
    place = neighborhood(draws, me)
    if not len(place.owners) <= agreed.max_in_degree:
        raise PeerProtocolError(
            AbortCode.BAD_GRAPH,
            f"at most {agreed.max_in_degree} clients may choose one neighbour; got {len(place.owners)}.",
        )
    return place


def _chosen(rule: GraphRule) -> ChosenGraph:
    """Narrows the rule; the transition table admits these steps in no other mode."""
    if not isinstance(rule, ChosenGraph):
        raise LocalProtocolError(AbortCode.BAD_GRAPH, "neighbours must follow from the keys in this mode.")
    return rule
