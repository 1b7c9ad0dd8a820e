"""Asking nodes that take no part whether they are there, without ever waiting for them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import final

from discreet.engines.flower.wire import NodeId, Wire
from discreet.silo.requests import Hello, encode


@final
class Greetings:
    """Greetings on their way. An answer may take longer than a round; until then its node is not asked again.

    Args:
        wire: the network.
        lifetime_seconds: after which a greeting is given up, and its node may be greeted anew.
    """

    def __init__(self, wire: Wire, lifetime_seconds: float) -> None:
        self._wire = wire
        self._lifetime = lifetime_seconds
        self._sent: dict[str, tuple[NodeId, float]] = {}

    def send(self, nodes: Iterable[NodeId]) -> None:
        """Greets those of ``nodes`` that have no greeting on its way."""
        now = time.monotonic()
        self._sent = {
            message: (node, sent)
            for message, (node, sent) in self._sent.items()
            if now < sent + self._lifetime
        }
        greeted = {node for node, _ in self._sent.values()}
        greeting = encode(Hello())
        posted = self._wire.post(
            dict.fromkeys(set(nodes) - greeted, greeting), label="hello", lifetime_seconds=self._lifetime
        )
        self._sent |= {message: (node, now) for message, node in posted.items()}

    def answers(self) -> dict[NodeId, bytes]:
        """Returns the answers so far, by node, each once; failed deliveries are left out."""
        if not self._sent:
            return {}
        found = self._wire.collect({message: node for message, (node, _) in self._sent.items()})
        arrived = {self._sent.pop(message)[0]: answer for message, answer in found.items()}
        return {node: answer for node, answer in arrived.items() if answer is not None}
