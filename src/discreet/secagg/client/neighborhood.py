"""How a client comes by its neighbours: computed from the keys, or drawn by itself and by others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from discreet.errors import LocalProtocolError, PeerProtocolError
from discreet.randomness import RandomSource
from discreet.secagg.codes import AbortCode
from discreet.secagg.graph import ChosenGraph, GraphRule, Neighborhood
from discreet.secagg.messages import ChosenBy


def derive(rule: GraphRule, me: int, members: Iterable[int], keys_digest: bytes) -> Neighborhood:
    """Computes our place from the agreed rule and the list of keys."""
    if isinstance(rule, ChosenGraph):
        raise LocalProtocolError(AbortCode.BAD_GRAPH, "neighbours must be drawn by the clients in this mode.")
    return rule.neighborhood(me, sorted(members), keys_digest)


def draw(rule: GraphRule, others: Sequence[int], randomness: RandomSource) -> tuple[int, ...]:
    """Draws the agreed number of neighbours among the others, without replacement."""
    order = randomness.permutation(len(others))
    return tuple(sorted(others[index] for index in order[: _chosen(rule).degree]))


def accept(
    rule: GraphRule, me: int, choice: tuple[int, ...], chosen: ChosenBy, offered: frozenset[int]
) -> Neighborhood:
    """Joins our own draw with those who drew us.

    Raises:
        PeerProtocolError: for strangers, ourselves, or more choosers than the cap allows: a server that lets
            colluders pile up around one client is caught here.
    """
    members, choosers = frozenset(chosen.members), frozenset(chosen.choosers)
    if not (me in members and me not in choosers and choosers <= members <= offered):
        raise PeerProtocolError(
            AbortCode.BAD_GRAPH, "choosers must be other clients of the key list; one is not."
        )
    cap = _chosen(rule).max_in_degree
    if not len(choosers) <= cap:
        raise PeerProtocolError(
            AbortCode.BAD_GRAPH, f"at most {cap} clients may choose one neighbour; got {len(choosers)}."
        )
    holders = frozenset(choice) & members
    return Neighborhood(maskers=holders | choosers, holders=holders, owners=choosers)


def _chosen(rule: GraphRule) -> ChosenGraph:
    """Narrows the rule; the transition table admits these steps in no other mode."""
    if not isinstance(rule, ChosenGraph):
        raise LocalProtocolError(AbortCode.BAD_GRAPH, "neighbours must follow from the keys in this mode.")
    return rule
