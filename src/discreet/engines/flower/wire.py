"""The network as the engine sees it: post to nodes, collect the replies."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Protocol

_POLL_SECONDS = 0.1

NodeId = int
Posted = Mapping[str, NodeId]
"""Message identifiers with the node that each went to."""


class Wire(Protocol):
    """Carries requests to nodes and replies back. Unreliable: a reply may be late, or never come."""

    def nodes(self) -> tuple[NodeId, ...]:
        """Returns the nodes that seem to be there."""

    def post(self, requests: Mapping[NodeId, bytes], *, label: str, lifetime_seconds: float) -> Posted:
        """Sends requests; one that is not delivered within its lifetime never is."""

    def collect(self, posted: Posted) -> dict[str, bytes | None]:
        """Returns the replies that have arrived since, by message identifier; None for a failed delivery."""


def await_nodes(wire: Wire, wanted: int, *, patience_seconds: float) -> tuple[NodeId, ...]:
    """Waits until ``wanted`` nodes seem to be there, or the time is up, and returns those that are."""
    deadline = time.monotonic() + patience_seconds
    while len(found := wire.nodes()) < wanted and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    return found


def exchange(
    wire: Wire, requests: Mapping[NodeId, bytes], *, label: str, patience_seconds: float
) -> dict[NodeId, bytes]:
    """Sends requests and waits until every node answered or failed, or the time is up.

    A reply that comes later is never collected, so it cannot enter a later stage.
    """
    deadline = time.monotonic() + patience_seconds
    open_messages = dict(wire.post(requests, label=label, lifetime_seconds=patience_seconds))
    replies: dict[NodeId, bytes] = {}
    while open_messages:
        for message, reply in wire.collect(open_messages).items():
            node = open_messages.pop(message)
            if reply is not None:
                replies[node] = reply
        if not open_messages or time.monotonic() >= deadline:
            break
        time.sleep(_POLL_SECONDS)
    return replies
