"""A `Wire` over Flower's Message API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, final

import numpy as np
from flwr.app import Array, ArrayRecord, Message, RecordDict

from discreet.engines.flower.wire import NodeId, Posted

MESSAGE_TYPE = "query.discreet"
_RECORD, _BODY = "discreet", "body"


class Grid(Protocol):
    """The part of Flower's ``Grid`` that is used; its own ``send_and_receive`` sleeps 3 s at a time."""

    def get_node_ids(self) -> Iterable[int]:
        """Returns the connected nodes."""

    def push_messages(self, messages: Iterable[Any]) -> Iterable[str | None]:
        """Queues messages and returns their identifiers."""

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Any]:
        """Returns the replies that are there."""


def to_content(body: bytes) -> RecordDict:
    """Packs bytes as one array of bytes, which Flower splits into pieces when it is large."""
    return RecordDict({_RECORD: ArrayRecord({_BODY: Array(np.frombuffer(body, dtype=np.uint8))})})


def from_content(content: RecordDict) -> bytes:
    """Inverse of `to_content`.

    Raises:
        ValueError: if the content is none of ours.
    """
    try:
        array = content.array_records[_RECORD][_BODY].numpy()
    except (KeyError, TypeError):
        raise ValueError("a message of discreet must hold one array of bytes; it does not.") from None
    return bytes(np.ascontiguousarray(array, dtype=np.uint8))


@final
class GridWire:
    """Posts to SuperNodes through a grid; what belongs to other messages is never collected."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid

    def nodes(self) -> tuple[NodeId, ...]:
        """Returns the connected nodes, in a fixed order."""
        return tuple(sorted(self._grid.get_node_ids()))

    def post(self, requests: Mapping[NodeId, bytes], *, label: str, lifetime_seconds: float) -> Posted:
        """Queues one message a node; equal bodies are stored once."""
        if not requests:
            return {}
        contents = {body: to_content(body) for body in set(requests.values())}
        messages = [
            Message(
                contents[body],
                dst_node_id=node,
                message_type=MESSAGE_TYPE,
                ttl=lifetime_seconds,
                group_id=label,
            )
            for node, body in requests.items()
        ]
        identifiers = self._grid.push_messages(messages)
        pairs = zip(identifiers, requests, strict=True)
        return {identifier: node for identifier, node in pairs if identifier is not None}

    def collect(self, posted: Posted) -> dict[str, bytes | None]:
        """Returns the replies that have arrived; None for an error reply."""
        collected: dict[str, bytes | None] = {}
        for message in self._grid.pull_messages(list(posted)):
            identifier = message.metadata.reply_to_message_id
            if identifier in posted:
                collected[identifier] = _body(message)
        return collected


def _body(message: Message) -> bytes | None:
    if message.has_error():
        return None
    try:
        return from_content(message.content)
    except ValueError:
        return None
